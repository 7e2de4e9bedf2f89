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
