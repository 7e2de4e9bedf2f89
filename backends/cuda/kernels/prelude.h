// clang-format off
// The dialect of the kernels that are written once (common/gpu/kernels), in CUDA C++. Variants are made by definitions: HALF, SIZE. Each instance
// of a kernel is a namespace of one text (instances.cmake): LOCAL and the constants that an instance has fixed are known to the compiler, the
// others are words that the host starts the kernel with (CONSTANT_n says which).
#define CONSTANT(number, name, otherwise) CONSTANT_##number(name)

typedef unsigned int uint;
typedef unsigned char uchar;
typedef unsigned short ushort;
#define I64 long long
#define U64 unsigned long long
#define GLOBAL
#include "pointers.h"
#define F64 double
#define DOUBLE_OF(low, high) __hiloint2double((int)(high), (int)(low))
#define DOUBLE_MOST DOUBLE_OF(0xffffffffu, 0x7fefffffu)
#define FLOOR_DOUBLE(x) floor(x)
#define CEIL_DOUBLE(x) ceil(x)
#define FLOAT2(a, b) make_float2(a, b)
#define FLOAT4(a, b, c, d) make_float4(a, b, c, d)
#define ALL_4(x) all_4(x)
#define UINT2(a, b) make_uint2(a, b)
#define UINT4(a, b, c, d) make_uint4(a, b, c, d)
#define AS_UINT(x) __float_as_uint(x)
#define AS_FLOAT(x) __uint_as_float(x)
#define ABS(x) fabsf(x)
#define ROUND_EVEN(x) rintf(x)
#define TOP_BIT(x) (31 - __clz((int)(x)))
#define EXACT_DIVISION  // nvcc's, unless it is told otherwise (-prec-div, -prec-sqrt)
#define FUNCTION static __device__
#define FUNCTION_APART static __device__ __noinline__
#define UNROLL_ON_GPUS UNROLL
// What is done with a sum is written by the host, and not known here, but where every constant of an instance is fixed (EXACT).
#if !defined(EXACT)
#define STEPS_AT_RUN_TIME
#endif
#define UNROLL_STEPS _Pragma("unroll 1")

// Sums of products are fused where a four is multiplied by a number and added; everything else is rounded as it is written (-fmad=false).
struct Scaled {
    float4 v;
    float by;
    __device__ operator float4() const { return make_float4(v.x * by, v.y * by, v.z * by, v.w * by); }
};
FUNCTION float4 all_4(float x) { return make_float4(x, x, x, x); }
FUNCTION Scaled operator*(float by, float4 v) { return Scaled{v, by}; }
FUNCTION Scaled operator*(float4 v, float by) { return Scaled{v, by}; }
FUNCTION float4 operator+(float4 a, float4 b) { return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w); }
FUNCTION float4 operator-(float4 a, float4 b) { return make_float4(a.x - b.x, a.y - b.y, a.z - b.z, a.w - b.w); }
FUNCTION float4 operator*(float4 a, float4 b) { return make_float4(a.x * b.x, a.y * b.y, a.z * b.z, a.w * b.w); }
FUNCTION float4 operator+(float4 a, Scaled p) {
    return make_float4(fmaf(p.v.x, p.by, a.x), fmaf(p.v.y, p.by, a.y), fmaf(p.v.z, p.by, a.z), fmaf(p.v.w, p.by, a.w));
}
FUNCTION float4 operator+(Scaled p, float4 a) { return a + p; }
FUNCTION float4 operator-(Scaled p, float4 a) { return make_float4(-a.x, -a.y, -a.z, -a.w) + p; }
FUNCTION float4 operator+(Scaled a, Scaled b) { return (float4)a + b; }
FUNCTION void operator+=(float4 &a, float4 b) { a = a + b; }
FUNCTION void operator+=(float4 &a, float b) { a = a + all_4(b); }
FUNCTION void operator+=(float4 &a, Scaled p) { a = a + p; }
FUNCTION void operator*=(float4 &a, float by) { a = make_float4(a.x * by, a.y * by, a.z * by, a.w * by); }
FUNCTION float dot(float4 a, float4 b) { return fmaf(a.w, b.w, fmaf(a.z, b.z, fmaf(a.y, b.y, a.x * b.x))); }
#define FUSED fmaf
FUNCTION float clamp(float x, float least, float most) { return fminf(fmaxf(x, least), most); }
FUNCTION int clamp(int x, int least, int most) { return min(max(x, least), most); }
// Element j of four; element i of an array of fours in shared memory.
FUNCTION float part_of(float4 v, uint j) { return j == 0 ? v.x : j == 1 ? v.y : j == 2 ? v.z : v.w; }
#define PART(v, j) part_of(v, j)
#define PUT_PART(array, i, v) ((float *)(array))[i] = (v)

// A kernel is called with the constants that its instance leaves open, as many as it knows, its parameters by value, no more words than its record and
// an epilogue have (what a launch copies takes time), then the place of each operand's first element.
template <uint COUNT> struct Words { uint word[COUNT]; };
#if defined(AS_TEXT)  // constants are in the text
#define CONSTANTS
#else
#define CONSTANTS const __grid_constant__ Words<CONSTANT_WORDS> constants,
#endif
#define EPILOGUE_WORDS (1u + 3u * EPILOGUE_STEPS)
#define ENTRY_OF(instance) bp_##instance
#define ENTRY_NAMED(instance) ENTRY_OF(instance)
#if defined(GROUPS_AT_ONCE)  // at least so many on a multiprocessor
#define ENTRY(name) extern "C" __global__ void __launch_bounds__(LOCAL, GROUPS_AT_ONCE) ENTRY_NAMED(INSTANCE)
#else
#define ENTRY(name) extern "C" __global__ void __launch_bounds__(LOCAL) ENTRY_NAMED(INSTANCE)
#endif
#if !defined(BUFFERS)
#define PARAMETERS(parameters) CONSTANTS const __grid_constant__ Words<sizeof(parameters##Parameters) / sizeof(uint) + EPILOGUE_WORDS> words
#define TAKE_OPERAND(number, name)
#else  // as the opencl backend calls a kernel: with the first element of each operand behind the words, then a buffer for each
#define PARAMETERS(parameters) CONSTANTS const __grid_constant__ Words<PARAMETER_WORDS + 2u * MOST_OPERANDS> words
#define TAKE_OPERAND(number, name) name += U64_OF(words.word[PARAMETER_WORDS + 2 * number], words.word[PARAMETER_WORDS + 2 * number + 1]);
#endif
// Where a kernel that is written once is called so, its operands are moved at its head.
#if defined(EXACT)
#define NAME_OF(kind, name, type) name
#define OPERAND(number, operand) MOVE_AS(number, NAME_OF operand)
#define MOVE_AS(number, name) TAKE_OPERAND((number - 1), name)
#else
#define OPERAND(number, operand)
#endif
#if !defined(AS_TEXT)
// Functions that a kernel is made of look up what only it is given. One that is called can not: it is told.
#define TEXT_OF(x) #x
#define TEXT_NAMED(x) TEXT_OF(x)
template <int PLACE> static __device__ __forceinline__ uint constant_of_host() {
    uint v;
    asm("ld.param.u32 %0, [" TEXT_NAMED(ENTRY_NAMED(INSTANCE)) "_param_0+%1];" : "=r"(v) : "n"(4 * PLACE));
    return v;
}
#define CONSTANT_OF_HOST(number, place) constant_of_host<place>()
#else  // for other drivers than CUDA's (common/gpu/ptx_texts.hpp)
// The host writes constants into the text before the driver compiles it, which leaves out what they exclude.
template <int NUMBER> static __device__ __forceinline__ uint constant_of_text() {
    uint v;
    asm("mov.u32 %0, 0xBACC00%1;" : "=r"(v) : "n"(NUMBER));
    return v;
}
#define CONSTANT_OF_HOST(number, place) constant_of_text<number>()
#undef BP_WAIT_FOR_THOSE_BEFORE
#define BP_WAIT_FOR_THOSE_BEFORE
#endif
// A kernel may be started before the one in front of it has ended, where that saves time (translate.cmake says where): it looks at no operand until then.
#define HEAD(parameters) const parameters##Parameters &P = *(const parameters##Parameters *)words.word; BP_WAIT_FOR_THOSE_BEFORE
#define WORD(i) words.word[i]
#define WORDS_FROM(i) (words.word + (i))
#define WORD_FLOAT(i) __uint_as_float(words.word[i])
#define KERNEL_OF(name, parameters, first, arguments, moves) ENTRY(name)(PARAMETERS(parameters)arguments) { HEAD(parameters) \
    moves
#if defined(SHARED_BYTES)  // what the host asks for: the one array of the kernel
#define SHARED(type, name, count)                       \
    static_assert(sizeof(type) * (count) <= SHARED_BYTES); \
    extern __shared__ __align__(16) type name[];
#else
#define SHARED(type, name, count) __shared__ __align__(16) type name[count];
#endif
#define LOCAL_INDEX threadIdx.x
// Workgroups counted through; a long range is dispatched in rows.
#define GROUP_INDEX (blockIdx.y * gridDim.x + blockIdx.x)
#define GROUP_COUNT (gridDim.y * gridDim.x)
#define BATCH_INDEX blockIdx.z
#define BARRIER __syncthreads()
// Lanes of a warp exchange what they have: two barriers where there are more warps than one, none otherwise.
#define GROUP_REDUCE(v, partial, COMBINE)                                  \
    UNROLL for (uint step_ = 16u; step_ > 0u; step_ /= 2u) {                 \
        auto other_ = __shfl_xor_sync(0xffffffffu, v, step_);              \
        v = COMBINE(v, other_);                                            \
    }                                                                      \
    if (LOCAL > 32u) {                                                     \
        if (LOCAL_INDEX % 32u == 0u) partial[LOCAL_INDEX / 32u] = v;       \
        BARRIER;                                                           \
        v = partial[0];                                                    \
        UNROLL for (uint w_ = 1u; w_ < LOCAL / 32u; ++w_) v = COMBINE(v, partial[w_]); \
        BARRIER;                                                           \
    }

// Elements of f16: their bits, converted by instructions that every GPU has; rounding is to the nearest even.
struct F16 { ushort bits; };
FUNCTION float single_of_bits(uint bits) {
    float v;
    asm("{ .reg .b16 h; cvt.u16.u32 h, %1; cvt.f32.f16 %0, h; }" : "=f"(v) : "r"(bits));
    return v;
}
FUNCTION uint bits_of_half(float v) {
    ushort h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(v));
    return h;
}
FUNCTION float load_half(const F16 *p, U64 i) { return single_of_bits(p[i].bits); }
FUNCTION void store_half(F16 *p, U64 i, float v) { p[i].bits = (ushort)bits_of_half(v); }
FUNCTION float4 four_halves(uint2 v) {
    return make_float4(single_of_bits(v.x & 0xffffu), single_of_bits(v.x >> 16), single_of_bits(v.y & 0xffffu), single_of_bits(v.y >> 16));
}
FUNCTION uint2 as_halves(float4 v) {
    return make_uint2(bits_of_half(v.x) | bits_of_half(v.y) << 16, bits_of_half(v.z) | bits_of_half(v.w) << 16);
}
#if defined(HALF)
#define T F16
#define LOAD(p, i) load_half(p, i)
#define STORE(p, i, v) store_half(p, i, v)
#define FOUR_AT(p) four_halves(*(const uint2 *)(p))
#define PUT_FOUR(p, v) *(uint2 *)(p) = as_halves(v)
#else
#define T float
#define LOAD(p, i) (p)[i]
#define STORE(p, i, v) (p)[i] = (v)
#define FOUR_AT(p) (*(const float4 *)(p))
#define PUT_FOUR(p, v) *(float4 *)(p) = (v)
#endif
#define LOAD_HALF(p, i) load_half(p, i)
// 1 / (1 + e^-x) of what becomes a half, or is multiplied by one: by the device's own power and reciprocal, 2^-21 of it at the most.
static __device__ __forceinline__ float sigmoid_nearly(float x) {
    float e, factor;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(e) : "f"(x * -1.4426950408889634f));
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(factor) : "f"(1.0f + e));
    return factor;
}
// Kernels that have a text of their own for rows of eights: eight halves as numbers, and back.
#define EIGHTS_AT_ONCE
#define EIGHT_OF(v, eight)                                                                                               \
    {                                                                                                                    \
        float4 low_ = four_halves(make_uint2(eight.x, eight.y)), high_ = four_halves(make_uint2(eight.z, eight.w));      \
        v[0] = low_.x, v[1] = low_.y, v[2] = low_.z, v[3] = low_.w;                                                      \
        v[4] = high_.x, v[5] = high_.y, v[6] = high_.z, v[7] = high_.w;                                                  \
    }
#define PUT_EIGHT(p, i, v)                                                                                               \
    {                                                                                                                    \
        uint2 low_ = as_halves(make_float4(v[0], v[1], v[2], v[3])), high_ = as_halves(make_float4(v[4], v[5], v[6], v[7])); \
        *(uint4 *)((p) + (i)) = make_uint4(low_.x, low_.y, high_.x, high_.y);                                            \
    }
// Sixteen bytes of an operand that is IN_EIGHTS, its `n` elements from i on, where it begins so that the device can; eight halves of it.
#define LOAD_WIDE(words, p, i, n)                                                              \
    {                                                                                          \
        uint4 v_ = *(const uint4 *)((p) + (i));                                                \
        words[0] = v_.x, words[1] = v_.y, words[2] = v_.z, words[3] = v_.w;                    \
    }
#define LOAD_HALVES(low, high, p, i)                \
    {                                               \
        uint4 v_ = *(const uint4 *)((p) + (i));     \
        low = four_halves(make_uint2(v_.x, v_.y));  \
        high = four_halves(make_uint2(v_.z, v_.w)); \
    }
#define LOAD_FOUR_HALVES(v, p, i) v = four_halves(*(const uint2 *)((p) + (i)));
// Four elements that lie so that the device can take them at once.
FUNCTION void store_4(T *p, U64 i, float4 v, int count) {
    bool at_once = count >= 4 && ALIGNED_4(p + i);
    if (at_once) PUT_FOUR(p + i, v);
    if (!at_once && count > 0) STORE(p, i, v.x);
    if (!at_once && count > 1) STORE(p, i + 1, v.y);
    if (!at_once && count > 2) STORE(p, i + 2, v.z);
    if (!at_once && count > 3) STORE(p, i + 3, v.w);
}
FUNCTION float4 load_4(const T *p, U64 i, int count) {
    if (count >= 4 && ALIGNED_4(p + i)) return FOUR_AT(p + i);
    float4 v = all_4(0.0f);
    if (count > 0) v.x = LOAD(p, i);
    if (count > 1) v.y = LOAD(p, i + 1);
    if (count > 2) v.z = LOAD(p, i + 2);
    if (count > 3) v.w = LOAD(p, i + 3);
    return v;
}
// What an invocation of conv_direct makes: four pixels, as many apart as there are invocations.
#define MANY 4u
#define PLACE uint
#define MANY_FLOATS float4
#define PIXEL_OF(p) (LOCAL_INDEX + (p) * LOCAL)
#define SIDE_BY_SIDE false
#define LOAD_MANY(v, name, i)
#define ALL_OF_MANY(x) all_4(x)
#define PART_OF_MANY(v, p) ((float *)&(v))[p]
