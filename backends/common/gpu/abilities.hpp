// What a device can do of what the kernels ask for, whatever interface it is driven through.
#pragma once

#include <cstdint>

namespace backplane::gpu {

struct Abilities {
    bool halves = false;              // 16-bit storage: f16, bf16, i16
    bool bytes = false;               // 8-bit storage and integers
    bool longs = false;               // 64-bit integers
    bool doubles = false;             // arithmetic in float64
    bool matrices = false;            // matrix units: f16 by f16 to f32, 16x16x16, subgroups of 32
    bool matrix_tiles = false;        // has the kernels conv_matrix and conv_matrix_filters, and 48 KiB of shared memory
    bool workgroup_matrices = false;  // has the kernels matmul_workgroup and attention_workgroup
    bool attention_matrix = false;    // has the kernel of that name
    bool warpgroups = false;          // has the kernels matmul_warpgroup, attention_warpgroup and conv_warpgroup
    bool warpgroup_products = false;  // has the first of these
    bool patches = false;             // has the kernel conv_patch, and workgroups of 256
    bool import = false;              // memory of the host can be used in place
    bool budget = false;              // the driver says how much memory is left
    bool unified = false;             // device memory is host memory
    bool few_kernels = false;         // they are compiled with the module: sizes that are near each other share one
    bool slow_copies = false;         // a kernel copies faster than the device's own command does
    bool chains = true;               // element-wise ops that follow each other are one dispatch
    bool carried = false;             // its driver is given machine code that the module has first
    bool software = false;            // runs on the CPU: shared memory is emulated, kernels are built slowly
    uint64_t import_alignment = 0;
    uint64_t storage_alignment = 1;  // of what is bound to a kernel
    uint64_t most_range = 0;         // bytes a kernel can see of one buffer
    uint64_t most_allocation = 0;
    uint32_t most_groups[3] = {65535, 65535, 65535};
    uint32_t most_invocations = 128;
    uint32_t shared_bytes = 16384;
    uint32_t subgroup = 0;
    uint32_t units = 132;              // multiprocessors, where it is known
    uint32_t least_patches = 192;      // of conv_patch, to keep the device busy; 0: use it wherever it is right (tests)
    uint32_t matrix_sums = 16;         // of conv_matrix: how many of 16 x 16 a subgroup makes at best
    uint32_t float_parts = 0;          // has matmul_parts and attention_parts, of heads of multiples of this
    uint32_t direct_invocations = 32;  // of conv_direct: they share 128 pixels
};

}  // namespace backplane::gpu
