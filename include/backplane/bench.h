/* Module extension "bp.bench.peak": the most this device can do, measured now, with what its kernels use. Benchmarks print their figures
 * beside these. bp_module_api.extension(module, BP_BENCH_PEAK) returns a `const bp_bench_peak *`. A call takes some 100 ms, with the number
 * of threads and the like that the device's options say. [device] */
#ifndef BACKPLANE_BENCH_H
#define BACKPLANE_BENCH_H

#include "backplane/module.h"

#define BP_BENCH_PEAK "bp.bench.peak"

typedef struct bp_bench_peak {
    uint32_t struct_size;
    uint32_t reserved;
    double (*gflops)(bp_device* device,
                     uint32_t dtype); /* multiply-adds of BP_F32 ..., two operations each, 10^9 a second; 0: not known */
    double (*read_gbytes)(
        bp_device* device); /* reading memory larger than the caches, 10^9 bytes a second; 0: not known    */
} bp_bench_peak;

#endif
