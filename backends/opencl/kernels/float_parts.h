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
