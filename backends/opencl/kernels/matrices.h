// clang-format off
// The matrix units, as the kernels that use them ask (docs/gpu-api.md): 32 invocations (a warp) multiply matrices of 16 x 16.
#define WARP_INDEX ((uint)get_local_id(0) / 32)
#define LANE_INDEX ((uint)get_local_id(0) % 32)
#define LOAD_A(m, shared, at, pitch, turned) load_a(&(m), (shared) + (at), pitch, turned, LANE_INDEX)
#define LOAD_B(m, shared, at, pitch, turned) load_b(&(m), (shared) + (at), pitch, turned, LANE_INDEX)
#define MULTIPLY(sum, a, b) multiply_16(&(sum), &(a), &(b), LANE_INDEX)
#define STORE_SUM(sum, shared, at, pitch) store_sum(&(sum), (local float *)((shared) + (at)), (pitch) * 4, LANE_INDEX)
#define STAGED(shared, at, pitch, row, column) ((local float *)((shared) + (at)))[(row) * (pitch) * 4 + (column)]
#define STAGED_4(shared, at, pitch, row, four) as_float4((shared)[(at) + (row) * (pitch) + (four)])
// Shared memory that is written by the half; a place in it, or a pitch, as LOAD_A takes it.
#define H ushort
#define SHARED_HALVES(name, count) local uint4 name[(count) / 8];
#define PUT_HALF(name, i, v) ((local ushort *)(name))[i] = v
#define HALVES(n) ((n) / 8)
#if defined(NVIDIA_ASSEMBLY)
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
#define FOUR_AT(p) unpack(*(global const uint2 *)(p))
#define PUT_FOUR(p, v) *(global uint2 *)(p) = (uint2)(pack((v).x, (v).y), pack((v).z, (v).w))
#define UNROLL_MATRICES _Pragma("unroll")
#define WARP_BARRIER __asm__ volatile("bar.warp.sync 0xffffffff;" ::: "memory")
#define MATRIX_A uint4
#define MATRIX_B uint4
typedef struct { float4 low, high; } MATRIX_SUM;  // columns 0 to 7, 8 to 15
#define CLEAR_SUM(sum) (sum).low = (sum).high = (float4)(0.0f)
// Sixteen bytes from global to local memory without passing through registers; nothing there: zeros. By way of the first cache: past it, as
// cp.async.cg has it, a product of 4096 cubed takes a third longer on an H200.
#define COPY_8(shared, to, p, i, there)                                                                     \
    __asm__ volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;" ::"r"((uint)(ulong)((shared) + (to))), \
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
// Slices whose eights are exchanged within 128 bytes, so that eight lines at one place meet all banks; `eights` of a line: a power of two.
#define PITCH(eights) (eights)
uint slot(uint line, uint eight, uint eights) {
    uint at = line * eights + eight;
    return at ^ (eights <= 8 ? at / 8 & (eights - 1) : line & 7);
}
#define SLOT(line, eight, eights) slot(line, eight, eights)
uint4 load_slice(local const uint4 *from, uint line, uint eight, uint eights, bool crossed, bool turned, uint lane) {
    uint at = crossed ? slot(line + lane % 8 + lane / 16 * 8, eight + lane / 8 % 2, eights) : slot(line + lane % 16, eight + lane / 16, eights);
    return turned ? load_turned(from + at) : load_matrices(from + at);
}
#define LOAD_SLICE_A(m, shared, from, line, eight, eights, turned) m = load_slice((shared) + (from), line, eight, eights, turned, turned, LANE_INDEX)
#define LOAD_SLICE_B(m, shared, from, line, eight, eights, turned) m = load_slice((shared) + (from), line, eight, eights, turned, !(turned), LANE_INDEX)
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
// A matrix as a lane holds it.
#define FILTERS uint4
#define LOAD_FILTERS(m, p, i, further) m = ((p) + (i) + LANE_INDEX)[further]
#define MULTIPLY_FILTERS MULTIPLY
#define FILTERS_OF(m) m
// Of the pixels of a matrix a lane takes two of each four, so that it ends up with sums of four that follow each other.
#define SKEW(column) ((column) / 8u * 2u)
#define LOAD_PIXELS(m, shared, line, column, pitch) load_pixels(&(m), (shared) + (line), column, pitch, LANE_INDEX)
void load_pixels(uint4 *m, local const uint4 *line, uint column, uint pitch, uint lane) {
    uint own = column + lane % 8 / 2 * 4 + lane / 16 * 2 + lane % 2;
    *m = load_matrices(line + own * pitch + SKEW(own) + lane / 8 % 2);
}
#define HELD_FOUR(sum, h) ((h) == 0u ? (float4)((sum).low.xy, (sum).high.xy) : (float4)((sum).low.zw, (sum).high.zw))
// Of a sum an invocation holds HELD_ROWS rows, of each HELD_COLUMNS elements; BESIDE(v, COMBINE, exchange): v of all that hold the same rows.
#define HELD_ROWS 2u
#define HELD_COLUMNS 4u
#define HELD_ROW(r) (LANE_INDEX / 4u + 8u * (r))
#define HELD_COLUMN(c) (LANE_INDEX % 4u * 2u + (c) % 2u + (c) / 2u * 8u)
#define HELD(sum, r, c) ((float *)&(sum))[(c) / 2u * 4u + (r) * 2u + (c) % 2u]
float lane_beside(float v, uint distance) {
    float other;
    __asm__ volatile("shfl.sync.bfly.b32 %0, %1, %2, 31, 0xffffffff;" : "=f"(other) : "f"(v), "r"(distance));
    return other;
}
#define BESIDE(v, COMBINE, exchange)         \
    v = COMBINE(v, lane_beside(v, 1u));      \
    v = COMBINE(v, lane_beside(v, 2u));
// A sum as what is multiplied next, from the left: rounded to halves, it is held alike. `shared` has room for it from `at` on.
#define ROUNDED_LEFT(m, sum, shared, at) m = round_sum(&(sum))
uint4 round_sum(const MATRIX_SUM *s) {
    return (uint4)(pack(s->low.x, s->low.y), pack(s->low.z, s->low.w), pack(s->high.x, s->high.y), pack(s->high.z, s->high.w));
}
// Each element (row, column) of a sum gets that of (row, 15 - row + column) of two that stand beside each other. `shared` has SKEWED_SPACE for them
// from `at` on. Here a row moves within its four lanes: by 7 - row % 8 columns, and by eight more in the upper rows.
#define ADD_SKEWED(sum, left, right, shared, at) add_skewed(&(sum), &(left), &(right), LANE_INDEX)
float lane_from(float v, uint lane) {
    float other;
    __asm__ volatile("shfl.sync.idx.b32 %0, %1, %2, 31, 0xffffffff;" : "=f"(other) : "f"(v), "r"(lane));
    return other;
}
// Of eight columns and the eight after them, two a lane: the two that are `by` columns further, by < 8.
float2 moved_left(float2 low, float2 high, uint by, uint lane) {
    uint within = lane % 4u, lanes = by / 2u, more = (by + 1u) / 2u;
    bool odd = by % 2u != 0u;
    float first = within >= lanes ? (odd ? low.y : low.x) : (odd ? high.y : high.x);
    float second = within >= more ? (odd ? low.x : low.y) : (odd ? high.x : high.y);
    uint quad = lane & ~3u;
    return (float2)(lane_from(first, quad | ((within + lanes) & 3u)), lane_from(second, quad | ((within + more) & 3u)));
}
void add_skewed(MATRIX_SUM *sum, const MATRIX_SUM *left, const MATRIX_SUM *right, uint lane) {
    uint by = 7u - lane / 4u;
    sum->low.xy += moved_left(left->high.xy, right->low.xy, by, lane);
    sum->high.xy += moved_left(right->low.xy, right->high.xy, by, lane);
    sum->low.zw += moved_left(left->low.zw, left->high.zw, by, lane);
    sum->high.zw += moved_left(left->high.zw, right->low.zw, by, lane);
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
#define SUM_BY(left)                                                                                                \
    for (uint k = 0; k < 16; ++k)                                                                                   \
        for (uint e = 0; e < 8; ++e) sum->v[e] += left * vload_half(k * b->down + (lane % 2 * 8 + e) * b->across, b->at);
void multiply_16(MATRIX_SUM *sum, const MATRIX_A *a, const MATRIX_A *b, uint lane) {
    SUM_BY(vload_half(lane / 2 * a->down + k * a->across, a->at))
}
typedef struct { global const half *at; } FILTERS;
#define LOAD_FILTERS(m, p, i, further) (m).at = (global const half *)((p) + (i) + (further))
#define MULTIPLY_FILTERS(sum, a, b) multiply_filters(&(sum), &(a), &(b), LANE_INDEX)
void multiply_filters(MATRIX_SUM *sum, const FILTERS *a, const MATRIX_B *b, uint lane) {
    SUM_BY(vload_half(lane / 2 * 16 + k, a->at))
}
#define FILTERS_OF(m) ((local const uint4 *)(m).at)[LANE_INDEX]
#define SKEW(column) 0u
#define LOAD_PIXELS(m, shared, line, column, pitch) LOAD_B(m, shared, (line) + (column) * (pitch), pitch, true)
#define MATRICES_STAY  // what is loaded must not be overwritten before it is multiplied
#define HELD_ROWS 1u
#define HELD_COLUMNS 8u
#define HELD_ROW(r) (LANE_INDEX / 2u)
#define HELD_COLUMN(c) (LANE_INDEX % 2u * 8u + (c))
#define HELD(sum, r, c) (sum).v[c]
#define BESIDE(v, COMBINE, exchange)                       \
    exchange[LOCAL_INDEX] = v;                             \
    BARRIER;                                               \
    v = COMBINE(v, exchange[LOCAL_INDEX ^ 1u]);            \
    BARRIER;
#define ROUNDED_LEFT(m, sum, shared, at)                                                                                           \
    BARRIER;                                                                                                                       \
    for (uint e_ = 0; e_ < 8; ++e_) vstore_half_rte((sum).v[e_], LANE_INDEX * 8 + e_, (local half *)((shared) + (at)));            \
    BARRIER;                                                                                                                       \
    LOAD_A(m, shared, at, 2, false)
#define SKEWED_SPACE 128u
#define ADD_SKEWED(sum, left, right, shared, at)                                                                                   \
    {                                                                                                                              \
        local float *wide_ = (local float *)((shared) + (at)) + LANE_INDEX / 2 * 32;                                              \
        uint first_ = LANE_INDEX % 2 * 8;                                                                                          \
        BARRIER;                                                                                                                   \
        for (uint e_ = 0; e_ < 8; ++e_) { wide_[first_ + e_] = (left).v[e_]; wide_[16 + first_ + e_] = (right).v[e_]; }            \
        BARRIER;                                                                                                                   \
        for (uint e_ = 0; e_ < 8; ++e_) (sum).v[e_] += wide_[15 - LANE_INDEX / 2 + first_ + e_];                                   \
    }
void store_sum(const MATRIX_SUM *sum, local float *to, uint pitch, uint lane) {
    for (uint e = 0; e < 8; ++e) to[lane / 2 * pitch + lane % 2 * 8 + e] = sum->v[e];
}
#endif
