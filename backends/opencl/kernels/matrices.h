// clang-format off
// The matrix units, as common/gpu/kernels/matmul_matrix.kernel asks for them (docs/gpu-api.md): 32 invocations (a warp) multiply matrices of 16 x 16.
#define WARP_INDEX ((uint)get_local_id(0) / 32)
#define LANE_INDEX ((uint)get_local_id(0) % 32)
#define LOAD_A(m, shared, at, pitch, turned) load_a(&(m), (shared) + (at), pitch, turned, LANE_INDEX)
#define LOAD_B(m, shared, at, pitch, turned) load_b(&(m), (shared) + (at), pitch, turned, LANE_INDEX)
#define MULTIPLY(sum, a, b) multiply_16(&(sum), &(a), &(b), LANE_INDEX)
#define STORE_SUM(sum, shared, at, pitch) store_sum(&(sum), (local float *)((shared) + (at)), (pitch) * 4, LANE_INDEX)
#define STAGED(shared, at, pitch, row, column) ((local float *)((shared) + (at)))[(row) * (pitch) * 4 + (column)]
#if defined(NVIDIA_ASSEMBLY)
#include "matrix_units.cl"
#define UNROLL_MATRICES _Pragma("unroll")
#define WARP_BARRIER __asm__ volatile("bar.warp.sync 0xffffffff;" ::: "memory")
#define MATRIX_A uint4
#define MATRIX_B uint4
typedef struct { float4 low, high; } MATRIX_SUM;  // columns 0 to 7, 8 to 15
#define CLEAR_SUM(sum) (sum).low = (sum).high = (float4)(0.0f)
// Sixteen bytes from global to local memory without passing through registers; nothing there: zeros.
#define COPY_8(shared, to, p, i, there)                                                                     \
    __asm__ volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"((uint)(ulong)((shared) + (to))), \
                     "l"((ulong)((p) + (i))), "r"((there) ? 16 : 0)                                         \
                     : "memory")
#define COPIES_END __asm__ volatile("cp.async.commit_group;" ::: "memory")
// Until all but the last n of what COPIES_END closed are there.
void copies_wait(uint n) {
    if (n == 0) __asm__ volatile("cp.async.wait_group 0;" ::: "memory");
    else if (n == 1) __asm__ volatile("cp.async.wait_group 1;" ::: "memory");
    else __asm__ volatile("cp.async.wait_group 2;" ::: "memory");
}
#define COPIES_WAIT(n) copies_wait(n)
uint4 load_turned(local const uint4 *row) {
    uint4 v;
    __asm__ volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                     : "r"((uint)(ulong)row)
                     : "memory");
    return v;
}
void load_a(uint4 *m, local const uint4 *from, uint pitch, bool turned, uint lane) {
    if (turned) *m = load_turned(from + (lane % 8 + lane / 16 * 8) * pitch + lane / 8 % 2);
    else *m = load_matrices(from + lane % 16 * pitch + lane / 16);
}
void load_b(uint4 *m, local const uint4 *from, uint pitch, bool turned, uint lane) {
    if (turned) *m = load_matrices(from + (lane % 8 + lane / 16 * 8) * pitch + lane / 8 % 2);
    else *m = load_turned(from + lane % 16 * pitch + lane / 16);
}
void multiply_16(MATRIX_SUM *sum, const uint4 *a, const uint4 *b, uint lane) {
    multiply(&sum->low, *a, b->x, b->y);
    multiply(&sum->high, *a, b->z, b->w);
}
void store_sum(const MATRIX_SUM *sum, local float *to, uint pitch, uint lane) {
    local float *at = to + lane / 4 * pitch + lane % 4 * 2;
    *(local float2 *)at = sum->low.xy;
    *(local float2 *)(at + 8) = sum->high.xy;
    *(local float2 *)(at + 8 * pitch) = sum->low.zw;
    *(local float2 *)(at + 8 * pitch + 8) = sum->high.zw;
}
#else
// The same in plain OpenCL C, for tests on other devices: a matrix stays where it is, an invocation sums eight elements of a row.
#define UNROLL_MATRICES  // an array may be indexed here
#define WARP_BARRIER barrier(CLK_LOCAL_MEM_FENCE)
typedef struct { local const half *at; uint down, across; } MATRIX_A;
#define MATRIX_B MATRIX_A
typedef struct { float v[8]; } MATRIX_SUM;
#define CLEAR_SUM(sum) for (uint e_ = 0; e_ < 8; ++e_) (sum).v[e_] = 0.0f
void load_a(MATRIX_A *m, local const uint4 *from, uint pitch, bool turned, uint lane) {
    m->at = (local const half *)from;
    m->down = turned ? 1 : pitch * 8;
    m->across = turned ? pitch * 8 : 1;
}
#define load_b load_a
void multiply_16(MATRIX_SUM *sum, const MATRIX_A *a, const MATRIX_A *b, uint lane) {
    for (uint k = 0; k < 16; ++k) {
        float left = vload_half(lane / 2 * a->down + k * a->across, a->at);
        for (uint e = 0; e < 8; ++e) sum->v[e] += left * vload_half(k * b->down + (lane % 2 * 8 + e) * b->across, b->at);
    }
}
void store_sum(const MATRIX_SUM *sum, local float *to, uint pitch, uint lane) {
    for (uint e = 0; e < 8; ++e) to[lane / 2 * pitch + lane % 2 * 8 + e] = sum->v[e];
}
#endif
