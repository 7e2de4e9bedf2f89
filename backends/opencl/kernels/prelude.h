// clang-format off
// The dialect of the kernels that are written once (common/gpu/kernels), in OpenCL C 1.2. Variants are made by definitions: HALF, SIZE.
// LOCAL is the size of the workgroup, C1 to C11 are what else is known when the kernel is built.
#define CONSTANT(number, name, otherwise) enum { name = C##number };

#define I64 long
#define U64 ulong
#define GLOBAL global
#include "pointers.h"
#if defined(DOUBLE)
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#define F64 double
#define DOUBLE_OF(low, high) as_double(U64_OF(low, high))
#define DOUBLE_MOST as_double(0x7fefffffffffffffUL)
#define FLOOR_DOUBLE(x) floor(x)
#define CEIL_DOUBLE(x) ceil(x)
#endif
#define FLOAT2(a, b) ((float2)(a, b))
#define FLOAT4(a, b, c, d) ((float4)(a, b, c, d))
#define ALL_4(x) ((float4)(x))
#define UINT2(a, b) ((uint2)(a, b))
#define UINT4(a, b, c, d) ((uint4)(a, b, c, d))
#define AS_UINT(x) as_uint(x)
#define AS_FLOAT(x) as_float(x)
#define ABS(x) fabs(x)
#define FUSED mad
#define ROUND_EVEN(x) rint(x)
#define TOP_BIT(x) (31 - (int)clz(x))
#define FUNCTION
#define UNROLL_STEPS UNROLL
// Loops whose unrolled form compilers for CPUs take up to a minute for, and run no faster.
#if defined(SOFTWARE)
#define UNROLL_ON_GPUS
#else
#define UNROLL_ON_GPUS UNROLL
#endif
// Element j of four; element i of an array of fours in local memory.
float part_of(float4 v, uint j) { return j == 0 ? v.x : j == 1 ? v.y : j == 2 ? v.z : v.w; }
#define PART part_of
#define PUT_PART(array, i, v) ((local float *)(array))[i] = (v)

// A kernel is called with its parameters and the first element of each operand by value, then a buffer for each operand: a tensor may lie anywhere in a
// buffer, so that no two names of memory overlap by accident of a sub-buffer. Every argument takes a launch longer, so numbers are one.
struct Words { uint word[PARAMETER_WORDS]; ulong first[MOST_OPERANDS]; };
#define PARAMETERS const struct Words words
#define ENTRY kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void
#define RECORD_OF(parameters) const struct parameters##Parameters P = *(const struct parameters##Parameters *)words.word;
#if defined(NVIDIA_ASSEMBLY)  // whose compiler would have each invocation make a copy of what it does not know the place in
#define HEAD(name, parameters)  \
    RECORD_OF(parameters)       \
    ulong words_at;             \
    __asm__("mov.u64 %0, bp_" #name "_param_0;" : "=l"(words_at));
uint word_at(ulong at) {
    uint word;
    __asm__("ld.param.u32 %0, [%1];" : "=r"(word) : "l"(at));
    return word;
}
#define WORD(i) word_at(words_at + (i) * 4u)
#else
#define HEAD(name, parameters) RECORD_OF(parameters)
#define WORD(i) words.word[i]
#endif
#define WORD_FLOAT(i) as_float(WORD(i))

// Pointers are moved once, at the head: an offset in each access costs PoCL a third.
#define MOVED(number, kind, name, type) name = OWN_OR_FIRST(name, type) + words.first[number - 1];
#define MOVE_AS(number, operand) MOVED(number, operand)
// A launch takes longer with every buffer: one that is the first operand's, too, comes as null.
#if defined(NAMED_ONCE)
#define FIRST_OF(kind, name, type) global uchar *first_buffer = (global uchar *)name;
#define FIRST_AS(operand) FIRST_OF(operand)
#define FIRST(operand) FIRST_AS(PARTS_OF operand)
#define OWN_OR_FIRST(name, type) (name != 0 ? name : (global type *)first_buffer)
#else
#define FIRST(operand)
#define OWN_OR_FIRST(name, type) name
#endif
#define PARTS_OF(kind, name, type) kind, name, type
#define OPERAND(number, operand) MOVE_AS(number, PARTS_OF operand)
#define KERNEL_OF(name, parameters, first, arguments, moves) \
    ENTRY bp_##name(PARAMETERS arguments) { \
        HEAD(name, parameters) FIRST(first) moves
#define SHARED(type, name, count) local type name[count];
#define LOCAL_INDEX ((uint)get_local_id(0))
// Workgroups counted through; a long range is dispatched in rows.
#define GROUP_INDEX ((uint)(get_group_id(1) * get_num_groups(0) + get_group_id(0)))
#define GROUP_COUNT ((uint)(get_num_groups(0) * get_num_groups(1)))
#define BATCH_INDEX ((uint)get_group_id(2))
#define BARRIER barrier(CLK_LOCAL_MEM_FENCE)

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
#define F16 half
#define LOAD_HALF(p, i) vload_half(i, p)
// Sixteen bytes of an operand that is IN_EIGHTS, its `n` elements from i on, where it begins so that the device can; eight halves of it.
#define LOAD_WIDE(words, p, i, n) vstore4(*(global const uint4 *)((p) + (i)), 0, words);
#if defined(NVIDIA_ASSEMBLY)  // where vloada_half8 is slow
float4 unpack(uint2 v) {
    float4 f;
    __asm__("{ .reg .b16 a, b, c, d; mov.b32 {a, b}, %4; mov.b32 {c, d}, %5; cvt.f32.f16 %0, a; cvt.f32.f16 %1, b; cvt.f32.f16 %2, c; cvt.f32.f16 %3, d; }"
            : "=f"(f.x), "=f"(f.y), "=f"(f.z), "=f"(f.w) : "r"(v.x), "r"(v.y));
    return f;
}
#define LOAD_HALVES(low, high, p, i)                      \
    {                                                     \
        uint4 v_ = *(global const uint4 *)((p) + (i));    \
        low = unpack(v_.xy);                              \
        high = unpack(v_.zw);                             \
    }
#define LOAD_FOUR_HALVES(v, p, i) v = unpack(*(global const uint2 *)((p) + (i)));
#else
#define LOAD_HALVES(low, high, p, i)           \
    {                                          \
        float8 v_ = vloada_half8(0, (p) + (i)); \
        low = v_.lo;                           \
        high = v_.hi;                          \
    }
#define LOAD_FOUR_HALVES(v, p, i) v = vloada_half4(0, (p) + (i));
#endif
// Four elements that lie so that the device can take them at once.
#if !defined(HALF)
#define FOUR_AT(p) (*(global const float4 *)(p))
#define PUT_FOUR(p, v) *(global float4 *)(p) = (v)
#elif !defined(FOUR_AT)
#define FOUR_AT(p) vloada_half4(0, p)
#define PUT_FOUR(p, v) vstorea_half4_rte(v, 0, p)
#endif
// The result is stored in fours, too; the first `count` of four elements, at once where they lie so that the device can.
void store_4(global T *p, ulong i, float4 v, int count) {
    int at_once = count >= 4 && ALIGNED_4(p + i);
    if (at_once) PUT_FOUR(p + i, v);
    if (!at_once && count > 0) STORE(p, i, v.x);
    if (!at_once && count > 1) STORE(p, i + 1, v.y);
    if (!at_once && count > 2) STORE(p, i + 2, v.z);
    if (!at_once && count > 3) STORE(p, i + 3, v.w);
}
float4 load_4(global const T *p, ulong i, int count) {
    if (count >= 4 && ALIGNED_4(p + i)) return FOUR_AT(p + i);
    float4 v = 0.0f;
    if (count > 0) v.x = LOAD(p, i);
    if (count > 1) v.y = LOAD(p, i + 1);
    if (count > 2) v.z = LOAD(p, i + 2);
    if (count > 3) v.w = LOAD(p, i + 3);
    return v;
}
// What an invocation of conv_direct makes: a vector of sixteen pixels that follow each other.
#define MANY 16
#define PLACE ulong  // what wraps at 32 bits costs PoCL an instruction at each use
#define MANY_FLOATS float16
#define PIXEL_OF(p) (LOCAL_INDEX * MANY + (p))
#define SIDE_BY_SIDE true
#if defined(HALF)
#define LOAD_MANY(v, p, i) v = vload_half16(0, (p) + (i));
#else
#define LOAD_MANY(v, p, i) v = vload16(0, (p) + (i));
#endif
#define ALL_OF_MANY(x) ((float16)(x))
#define PART_OF_MANY(v, p) ((float *)&v)[p]
