// Floats on the matrix units, each as a high and a low part of 11 bits (TF32), which a unit takes: it leaves out what of a float stands behind
// them. Of the high part, rounded, and the rest the low part lacks less than 2^-22. What is no number, or becomes none, makes one of them NaN.
#define SPLIT_FOUR(high, low, v) split_four(&(high), &(low), v)
void split_four(uint4* high, uint4* low, float4 v) {
    *high = as_uint4(v) + 0x1000u;
    *low = as_uint4(v - as_float4(*high & 0xffffe000u));
}
#define WORD_OF(v, t) ((uint*)&(v))[t]
#define FLOAT_OF(v, t) ((float*)&(v))[t]
// sum (16 x 8) += a (16 x 8) * b (8 x 8) of parts. Layouts of the fragments: PTX ISA, "Matrix fragments for mma.m16n8k8".
#if defined(NVIDIA_ASSEMBLY)
#define MULTIPLY_PARTS(sum, a, b0, b1) multiply_parts(&(sum), a, b0, b1)
void multiply_parts(float4* sum, uint4 a, uint b0, uint b1) {
    float4 s = *sum;
    __asm__(
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(s.x), "+f"(s.y), "+f"(s.z), "+f"(s.w)
        : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b0), "r"(b1));
    *sum = s;
}
#else
#define MULTIPLY_PARTS(sum, a, b0, b1)                                   \
    {                                                                    \
        vstore4(a, 0, of_parts + LOCAL_INDEX * 6);                       \
        vstore2((uint2)(b0, b1), 0, of_parts + LOCAL_INDEX * 6 + 4);     \
        BARRIER;                                                         \
        multiply_parts(&(sum), of_parts + WARP_INDEX * 192, LANE_INDEX); \
        BARRIER;                                                         \
    }
float number_of_part(uint v) { return as_float(v & 0xffffe000u); }
void multiply_parts(float4* sum, local const uint* parts, uint lane) {
    for (uint c = 0; c < 4; ++c)
        for (uint k = 0; k < 8; ++k)
            ((float*)sum)[c] += number_of_part(parts[(lane / 4 * 4 + k % 4) * 6 + c / 2 + k / 4 * 2]) *
                                number_of_part(parts[((lane % 4 * 2 + c % 2) * 4 + k % 4) * 6 + 4 + k / 4]);
}
#define MULTIPLY_EIGHT(sum, a, b0, b1)                                   \
    {                                                                    \
        vstore4(a, 0, of_parts + LOCAL_INDEX * 6);                       \
        vstore2((uint2)(b0, b1), 0, of_parts + LOCAL_INDEX * 6 + 4);     \
        BARRIER;                                                         \
        multiply_eight(&(sum), of_parts + WARP_INDEX * 192, LANE_INDEX); \
        BARRIER;                                                         \
    }
float half_at(local const uint* words, uint place, uint second) {
    return vload_half(second, (local const half*)(words + place));
}
void multiply_eight(float4* sum, local const uint* parts, uint lane) {
    for (uint c = 0; c < 4; ++c)
        for (uint k = 0; k < 16; ++k)
            ((float*)sum)[c] += half_at(parts, (lane / 4 * 4 + k % 8 / 2) * 6 + c / 2 + k / 8 * 2, k % 2) *
                                half_at(parts, ((lane % 4 * 2 + c % 2) * 4 + k % 8 / 2) * 6 + 4 + k / 8, k % 2);
}
uint halves_of(float a, float b) {
    ushort v[2];
    vstore_half_rte(a, 0, (half*)v);
    vstore_half_rte(b, 1, (half*)v);
    return v[0] | (uint)v[1] << 16;
}
uint rest_of_halves(uint high, float a, float b) {
    ushort v[2] = {high & 0xffff, high >> 16};
    return halves_of(a - vload_half(0, (half*)v), b - vload_half(1, (half*)v));
}
#define HALVES_OF(a, b) halves_of(a, b)
#define MOST_OF_WARP(v)                                                          \
    of_parts[LOCAL_INDEX] = v;                                                   \
    BARRIER;                                                                     \
    for (uint l_ = 0; l_ < 32; ++l_) v = max(v, of_parts[WARP_INDEX * 32 + l_]); \
    BARRIER;
#define BESIDE_FOUR(v, COMBINE, exchange)       \
    exchange[LOCAL_INDEX] = v;                  \
    BARRIER;                                    \
    v = COMBINE(v, exchange[LOCAL_INDEX ^ 1u]); \
    BARRIER;                                    \
    exchange[LOCAL_INDEX] = v;                  \
    BARRIER;                                    \
    v = COMBINE(v, exchange[LOCAL_INDEX ^ 2u]); \
    BARRIER;
#endif
#define REST_OF_HALVES(high, a, b) rest_of_halves(high, a, b)
// The same as two halves, which follow matrices.h: a float is the sum of a half and of one more for what that leaves, which lacks 2^-22 of it where
// the float is 2^-3 or more, and 2^-25 below. PUT_HALVES: a four to local memory, to the half of the eight at `place` that `second` says, and that
// `part` further. SPLIT_LEFT: a sum as the parts of what is multiplied next, from the left.
#if defined(NVIDIA_ASSEMBLY)
uint rest_of_halves(uint high, float a, float b) {
    float x, y;
    __asm__("{ .reg .b16 l, h; mov.b32 {l, h}, %2; cvt.f32.f16 %0, l; cvt.f32.f16 %1, h; }" : "=f"(x), "=f"(y) : "r"(high));
    return pack(a - x, b - y);
}
// sum (16 x 8) += a (16 x 16) * b (16 x 8) of halves, all as PTX's mma.m16n8k16 has them; v of the four lanes that hold the same rows of such a sum; the
// largest whole number of a warp.
#define HALVES_OF(a, b) pack(a, b)
#define MULTIPLY_EIGHT(sum, a, b0, b1) multiply(&(sum), a, b0, b1)
#define BESIDE_FOUR BESIDE
#define MOST_OF_WARP(v) v = most_bits_of_warp(v);
uint most_bits_of_warp(uint v) {
    uint most;
    __asm__ volatile("redux.sync.max.u32 %0, %1, 0xffffffff;" : "=r"(most) : "r"(v));
    return most;
}
#define PUT_HALVES(shared, place, part, second, v) put_halves((local uint2*)((shared) + (place)) + (second), (part)*2, v)
void put_halves(local uint2* to, uint part, float4 v) {
    uint2 high = (uint2)(pack(v.x, v.y), pack(v.z, v.w));
    to[0] = high;
    to[part] = (uint2)(rest_of_halves(high.x, v.x, v.y), rest_of_halves(high.y, v.z, v.w));
}
#define SPLIT_LEFT(high, low, sum, shared, at) high = round_sum(&(sum)), low = rest_of_sum(high, &(sum))
uint4 rest_of_sum(uint4 high, const MATRIX_SUM* s) {
    return (uint4)(rest_of_halves(high.x, s->low.x, s->low.y), rest_of_halves(high.y, s->low.z, s->low.w),
                   rest_of_halves(high.z, s->high.x, s->high.y), rest_of_halves(high.w, s->high.z, s->high.w));
}
#define MOST_WRITERS (LOCAL / 32u)
#define MOST_WRITER WARP_INDEX
float most_of_warp(float v) {
    for (uint step = 16; step > 0; step /= 2) v = fmax(v, lane_beside(v, step));
    return v;
}
#else
#define PUT_HALVES(shared, place, part, second, v) put_halves((local half*)((shared) + (place)) + (second)*4, (part)*8, v)
void put_halves(local half* to, uint part, float4 v) {
    vstore_half4_rte(v, 0, to);
    vstore_half4_rte(v - vload_half4(0, to), 0, to + part);
}
#define SPLIT_LEFT(high, low, sum, shared, at)                                 \
    {                                                                          \
        local half* to_ = (local half*)((shared) + (at)) + LANE_INDEX * 8;     \
        BARRIER;                                                               \
        for (uint e_ = 0; e_ < 8; ++e_) {                                      \
            vstore_half_rte((sum).v[e_], e_, to_);                             \
            vstore_half_rte((sum).v[e_] - vload_half(e_, to_), e_, to_ + 256); \
        }                                                                      \
        BARRIER;                                                               \
        LOAD_A(high, shared, at, 2, false);                                    \
        LOAD_A(low, shared, (at) + 32, 2, false);                              \
    }
#define MOST_WRITERS LOCAL
#define MOST_WRITER LOCAL_INDEX
#define most_of_warp(v) (v)
#endif
// Of each of three numbers the largest of all invocations. TOLD(i): local memory for four of each of MOST_WRITERS.
#define MOST_OF_ALL(a, b, c)                         \
    TOLD(MOST_WRITER * 4) = a = most_of_warp(a);     \
    TOLD(MOST_WRITER * 4 + 1) = b = most_of_warp(b); \
    TOLD(MOST_WRITER * 4 + 2) = c = most_of_warp(c); \
    BARRIER;                                         \
    for (uint w_ = 0; w_ < MOST_WRITERS; ++w_) {     \
        a = fmax(a, TOLD(w_ * 4));                   \
        b = fmax(b, TOLD(w_ * 4 + 1));               \
        c = fmax(c, TOLD(w_ * 4 + 2));               \
    }
