#if !defined(NVIDIA_ASSEMBLY)
#error this kernel is for compilers that take the assembly of NVIDIA's GPUs
#endif
// The matrix units of NVIDIA's GPUs (compute capability 8.0 on), through the assembly that the driver's compiler takes in OpenCL C. All
// functions are called by whole warps. Layouts of the fragments: PTX ISA, "Matrix fragments for mma.m16n8k16".
// Four matrices of 8 x 8 halves; each lane gives the place of one row of 16 bytes: lanes 0 to 7 those of the first, and so on.
uint4 load_matrices(local const uint4 *row) {
    uint4 v;
    __asm__ volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                     : "r"((uint)(ulong)row)
                     : "memory");
    return v;
}
// sums (16 x 8) += a (16 x 16) * b (16 x 8)
void multiply(float4 *sums, uint4 a, uint b0, uint b1) {
    float4 s = *sums;
    __asm__("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
            : "+f"(s.x), "+f"(s.y), "+f"(s.z), "+f"(s.w)
            : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b0), "r"(b1));
    *sums = s;
}
// Two floats as halves, rounded to the nearest even, and four halves as floats.
uint pack(float low, float high) {
    uint v;
    __asm__("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(v) : "f"(high), "f"(low));
    return v;
}
float4 unpack(uint2 v) {
    float4 f;
    __asm__("{ .reg .b16 a, b, c, d; mov.b32 {a, b}, %4; mov.b32 {c, d}, %5; cvt.f32.f16 %0, a; cvt.f32.f16 %1, b; cvt.f32.f16 %2, c; cvt.f32.f16 %3, d; }"
            : "=f"(f.x), "=f"(f.y), "=f"(f.z), "=f"(f.w) : "r"(v.x), "r"(v.y));
    return f;
}
