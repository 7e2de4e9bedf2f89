/* Module extension "bp.bench.peak": what this machine can do at most, measured now, with the kernels' own instruction set.
 * bp_module_api.extension(module, "bp.bench.peak") returns a `const bp_bench_peak *`. Each call takes some 100 ms. [any] */
#ifndef BP_BENCH_PEAK_H
#define BP_BENCH_PEAK_H

#include <stdint.h>

typedef struct bp_bench_peak {
    uint32_t struct_size;
    uint32_t reserved;
    double (*gflops)(uint32_t threads);      /* float32 multiply-adds on registers, two operations each; 10^9 a second   */
    double (*read_gbytes)(uint32_t threads); /* reading memory larger than the caches; 10^9 bytes a second                */
} bp_bench_peak;

#endif
