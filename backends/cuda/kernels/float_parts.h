// Floats on the matrix units, each as a high and a low part of 11 bits (TF32), which a unit takes: it leaves out what of a float stands behind
// them. Of the high part, rounded, and the rest the low part lacks less than 2^-22. What is no number, or becomes none, makes one of them NaN.
#define SPLIT_FOUR(high, low, v) split_four(high, low, v)
MATRIX_FUNCTION void split_one(uint& high, uint& low, float v) {
    high = __float_as_uint(v) + 0x1000u;
    low = __float_as_uint(v - __uint_as_float(high & 0xffffe000u));
}
MATRIX_FUNCTION void split_four(uint4& high, uint4& low, float4 v) {
    split_one(high.x, low.x, v.x), split_one(high.y, low.y, v.y), split_one(high.z, low.z, v.z),
        split_one(high.w, low.w, v.w);
}
#define WORD_OF(v, t) ((uint*)&(v))[t]
#define FLOAT_OF(v, t) ((float*)&(v))[t]
// sum (16 x 8) += a (16 x 8) * b (8 x 8) of parts. Layouts of the fragments: PTX ISA, "Matrix fragments for mma.m16n8k8".
#define MULTIPLY_PARTS(sum, a, b0, b1) multiply_parts(sum, a, b0, b1)
MATRIX_FUNCTION void multiply_parts(float4& s, const uint4& a, uint b0, uint b1) {
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(s.x), "+f"(s.y), "+f"(s.z), "+f"(s.w)
        : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b0), "r"(b1));
}
// The same as two halves, which follow matrices.h: a float is the sum of a half and of one more for what that leaves, which lacks 2^-22 of it where
// the float is 2^-3 or more, and 2^-25 below.
MATRIX_FUNCTION uint rest_of_halves(uint high, float a, float b) {
    float x, y;
    asm("{ .reg .b16 l, h; mov.b32 {l, h}, %2; cvt.f32.f16 %0, l; cvt.f32.f16 %1, h; }" : "=f"(x), "=f"(y) : "r"(high));
    return pack_halves(a - x, b - y);
}
#define HALVES_OF(a, b) pack_halves(a, b)
#define REST_OF_HALVES(high, a, b) rest_of_halves(high, a, b)
// sum (16 x 8) += a (16 x 16) * b (16 x 8) of halves, all as PTX's mma.m16n8k16 has them.
#define MULTIPLY_EIGHT(sum, a, b0, b1) multiply(sum, a, b0, b1)
// v of the four lanes that hold the same rows of such a sum; the largest whole number of a warp.
#define BESIDE_FOUR BESIDE
#define MOST_OF_WARP(v) v = __reduce_max_sync(0xffffffffu, v);
// A four to shared memory: the half of the eight at `place` that `second` says, and that `part` further.
#define PUT_HALVES(shared, place, part, second, v) put_halves((uint2*)((shared) + (place)) + (second), (part)*2u, v)
MATRIX_FUNCTION void put_halves(uint2* to, uint part, float4 v) {
    uint2 high = make_uint2(pack_halves(v.x, v.y), pack_halves(v.z, v.w));
    to[0] = high;
    to[part] = make_uint2(rest_of_halves(high.x, v.x, v.y), rest_of_halves(high.y, v.z, v.w));
}
// A sum as the parts of what is multiplied next, from the left.
#define SPLIT_LEFT(high, low, sum, shared, at) high = round_sum(sum), low = rest_of_sum(high, sum)
MATRIX_FUNCTION uint4 rest_of_sum(const uint4& high, const MATRIX_SUM& s) {
    return make_uint4(rest_of_halves(high.x, s.low.x, s.low.y), rest_of_halves(high.y, s.low.z, s.low.w),
                      rest_of_halves(high.z, s.high.x, s.high.y), rest_of_halves(high.w, s.high.z, s.high.w));
}
// Of each of three numbers the largest of all invocations. TOLD(i): shared memory for four of each of MOST_WRITERS.
#define MOST_WRITERS (LOCAL / 32u)
#define MOST_OF_ALL(a, b, c)                                  \
    UNROLL for (uint step_ = 16u; step_ > 0u; step_ /= 2u) {  \
        a = fmaxf(a, __shfl_xor_sync(0xffffffffu, a, step_)); \
        b = fmaxf(b, __shfl_xor_sync(0xffffffffu, b, step_)); \
        c = fmaxf(c, __shfl_xor_sync(0xffffffffu, c, step_)); \
    }                                                         \
    TOLD(WARP_INDEX * 4u) = a;                                \
    TOLD(WARP_INDEX * 4u + 1u) = b;                           \
    TOLD(WARP_INDEX * 4u + 2u) = c;                           \
    BARRIER;                                                  \
    UNROLL for (uint w_ = 0u; w_ < MOST_WRITERS; ++w_) {      \
        a = fmaxf(a, TOLD(w_ * 4u));                          \
        b = fmaxf(b, TOLD(w_ * 4u + 1u));                     \
        c = fmaxf(c, TOLD(w_ * 4u + 2u));                     \
    }
