// What every kernel starts with. Variants are made by definitions: T is the element type of operands, U of weights. LOCAL is the size
// of the workgroup, C1 to C9 are what else is known when the kernel is built.
//
// A kernel is called with its parameters (a record among those of other dispatches), then, for each operand, a buffer and the first
// element in it: a tensor may lie anywhere in a buffer, so that no two names of memory overlap by accident of a sub-buffer.
#define PARAMETERS constant uint *all_parameters, const uint first_parameter
#define READ(name, type) global const type *name, const ulong name##_first
#define WRITE(name, type) global type *name, const ulong name##_first
#define ENTRY kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void
#define BEGIN constant uint *words = all_parameters + first_parameter
#define AT(name) name += name##_first
#define UNROLL _Pragma("unroll")
// Parameters: as the record of the kernel, P.field where P is PARAMETERS_OF(its name), and as words, for lists.
#define PARAMETERS_OF(name) (*(constant struct name##Parameters *)words)
#define WORD(i) words[i]
#define WORD_FLOAT(i) as_float(words[i])
#include "kernel_ids.h"
#include "kernel_parameters.h"

// Elements of f16 are read and written without arithmetic in them: every device can, and rounding is to the nearest even.
#if defined(HALF)
#define T half
#define LOAD(p, i) vload_half(i, p)
#define STORE(p, i, v) vstore_half_rte(v, i, p)
#else
#define T float
#define LOAD(p, i) (p)[i]
#define STORE(p, i, v) (p)[i] = (v)
#endif
#if defined(HALF) || defined(HALF_WEIGHTS)
#define U half
#define LOAD_U(p, i) vload_half(i, p)
#else
#define U float
#define LOAD_U(p, i) (p)[i]
#endif

float part_of(float4 v, uint j) { return j == 0 ? v.x : j == 1 ? v.y : j == 2 ? v.z : v.w; }

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

// Workgroups and invocations counted through; a long range is dispatched in rows.
uint group_index(void) { return get_group_id(1) * get_num_groups(0) + get_group_id(0); }
uint invocation_index(void) { return group_index() * LOCAL + get_local_id(0); }

// A workgroup's share of 0 to n - 1, the same number of rounds for each invocation: PoCL lets those without a first round have one when
// a loop begins at different places.
#define FOR_EACH_OF(i, n)                                                \
    for (uint i##_round = 0, i; i##_round < (n); i##_round += LOCAL)     \
        if ((i = i##_round + get_local_id(0)) < (n))

#define K_INFINITY as_float(0x7f800000u)
#define K_NAN as_float(0x7fc00000u)
// By its bits: compilers may take it that nothing is NaN when they see a comparison.
int is_nan(float x) { return (as_uint(x) & 0x7fffffffu) > 0x7f800000u; }
int is_infinite(float x) { return (as_uint(x) & 0x7fffffffu) == 0x7f800000u; }
