// What the kernels of this Api alone start with.
#include "common.h"
#define WORDS_HERE constant uint *words = all_parameters + first_parameter
#define AT(name) name += name##_first
// The record of the kernel: P.field where P is PARAMETERS_OF(its name).
#define PARAMETERS_OF(name) (*(constant struct name##Parameters *)words)

// The first `count` of four elements; at once where they lie so that the device can.
void store_4(global T *p, ulong i, float4 v, int count) {
#if defined(HALF)
    int at_once = count >= 4 && ((ulong)(p + i) & 7) == 0;
    if (at_once) vstore_half4_rte(v, 0, p + i);
#else
    int at_once = count >= 4 && ((ulong)(p + i) & 15) == 0;
    if (at_once) *(global float4 *)(p + i) = v;
#endif
    if (!at_once && count > 0) STORE(p, i, v.x);
    if (!at_once && count > 1) STORE(p, i + 1, v.y);
    if (!at_once && count > 2) STORE(p, i + 2, v.z);
    if (!at_once && count > 3) STORE(p, i + 3, v.w);
}
#define STORE_4(p, i, v, count) store_4(p, i, v, count)
