// clang-format off
// The matrix units of NVIDIA's GPUs (compute capability 8.0 on), as the kernels that use them ask (docs/gpu-api.md): 32 invocations (a warp)
// multiply matrices of 16 x 16. All functions are called by whole warps. Layouts of the fragments: PTX ISA, "Matrix fragments for
// mma.m16n8k16".
typedef unsigned int uint;
#define MATRIX_FUNCTION static __device__ __forceinline__
#define WARP_INDEX (threadIdx.x / 32u)
#define LANE_INDEX (threadIdx.x % 32u)
#define LOAD_A(m, shared, at, pitch, turned) load_a(m, (shared) + (at), pitch, turned, LANE_INDEX)
#define LOAD_B(m, shared, at, pitch, turned) load_b(m, (shared) + (at), pitch, turned, LANE_INDEX)
#define MULTIPLY(sum, a, b) multiply_16(sum, a, b)
#define STORE_SUM(sum, shared, at, pitch) store_sum(sum, (float *)((shared) + (at)), (pitch) * 4, LANE_INDEX)
#define STAGED(shared, at, pitch, row, column) ((float *)((shared) + (at)))[(row) * (pitch) * 4 + (column)]
#define STAGED_4(shared, at, pitch, row, four) as_float4((shared)[(at) + (row) * (pitch) + (four)])
// Shared memory that is written by the half; a place in it, or a pitch, as LOAD_A takes it.
#define H unsigned short
#define SHARED_HALVES(name, count) __shared__ __align__(16) uint4 name[(count) / 8];
#define PUT_HALF(name, i, v) ((unsigned short *)(name))[i] = v
#define HALVES(n) ((n) / 8)
#define UNROLL_MATRICES _Pragma("unroll")
#define WARP_BARRIER __syncwarp()
#define native_exp2 exp2_nearly
MATRIX_FUNCTION float exp2_nearly(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
MATRIX_FUNCTION float4 as_float4(uint4 v) {
    return make_float4(__uint_as_float(v.x), __uint_as_float(v.y), __uint_as_float(v.z), __uint_as_float(v.w));
}
MATRIX_FUNCTION uint place_of(const void *shared) { return (uint)__cvta_generic_to_shared(shared); }
// Four matrices of 8 x 8 halves; each lane gives the place of one row of 16 bytes: lanes 0 to 7 those of the first, and so on.
MATRIX_FUNCTION uint4 load_matrices(const uint4 *row) {
    uint4 v;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "r"(place_of(row)) : "memory");
    return v;
}
MATRIX_FUNCTION uint4 load_turned(const uint4 *row) {
    uint4 v;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "r"(place_of(row)) : "memory");
    return v;
}
// sums (16 x 8) += a (16 x 16) * b (16 x 8)
MATRIX_FUNCTION void multiply(float4 &s, const uint4 &a, uint b0, uint b1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(s.x), "+f"(s.y), "+f"(s.z), "+f"(s.w) : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b0), "r"(b1));
}
// Two floats as halves, rounded to the nearest even.
MATRIX_FUNCTION uint pack_halves(float low, float high) {
    uint v;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(v) : "f"(high), "f"(low));
    return v;
}
#define MATRIX_A uint4
#define MATRIX_B uint4
struct MATRIX_SUM { float4 low, high; };  // columns 0 to 7, 8 to 15
#define CLEAR_SUM(sum) (sum).low = (sum).high = make_float4(0.0f, 0.0f, 0.0f, 0.0f)
// Sixteen bytes from global to shared memory without passing through registers; nothing there: zeros.
#define COPY_8(shared, to, p, i, there)                                                                 \
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;" ::"r"(place_of((shared) + (to))),      \
                 "l"((unsigned long long)((p) + (i))), "r"((there) ? 16 : 0)                            \
                 : "memory")
#define COPIES_END asm volatile("cp.async.commit_group;" ::: "memory")
// Until all but the last n of what COPIES_END closed are there; n is known when this is compiled.
#define COPIES_WAIT(n) asm volatile("cp.async.wait_group %0;" ::"n"((int)(n)) : "memory")
// Slices whose eights are exchanged within 128 bytes, so that eight lines at one place meet all banks; `eights` of a line: a power of two.
#define PITCH(eights) (eights)
MATRIX_FUNCTION uint slot(uint line, uint eight, uint eights) {
    uint at = line * eights + eight;
    return at ^ (eights <= 8 ? at / 8 & (eights - 1) : line & 7);
}
#define SLOT(line, eight, eights) slot(line, eight, eights)
MATRIX_FUNCTION uint4 load_slice(const uint4 *from, uint line, uint eight, uint eights, bool crossed, bool turned, uint lane) {
    uint at = crossed ? slot(line + lane % 8 + lane / 16 * 8, eight + lane / 8 % 2, eights) : slot(line + lane % 16, eight + lane / 16, eights);
    return turned ? load_turned(from + at) : load_matrices(from + at);
}
#define LOAD_SLICE_A(m, shared, from, line, eight, eights, turned) m = load_slice((shared) + (from), line, eight, eights, turned, turned, LANE_INDEX)
#define LOAD_SLICE_B(m, shared, from, line, eight, eights, turned) m = load_slice((shared) + (from), line, eight, eights, turned, !(turned), LANE_INDEX)
MATRIX_FUNCTION void load_a(uint4 &m, const uint4 *from, uint pitch, bool turned, uint lane) {
    if (turned) m = load_turned(from + (lane % 8 + lane / 16 * 8) * pitch + lane / 8 % 2);
    else m = load_matrices(from + lane % 16 * pitch + lane / 16);
}
MATRIX_FUNCTION void load_b(uint4 &m, const uint4 *from, uint pitch, bool turned, uint lane) {
    if (turned) m = load_matrices(from + (lane % 8 + lane / 16 * 8) * pitch + lane / 8 % 2);
    else m = load_turned(from + lane % 16 * pitch + lane / 16);
}
MATRIX_FUNCTION void multiply_16(MATRIX_SUM &sum, const uint4 &a, const uint4 &b) {
    multiply(sum.low, a, b.x, b.y);
    multiply(sum.high, a, b.z, b.w);
}
// A matrix as a lane holds it.
#define FILTERS uint4
#define LOAD_FILTERS(m, p, i, further) m = ((p) + (i) + LANE_INDEX)[further]
#define MULTIPLY_FILTERS MULTIPLY
#define FILTERS_OF(m) m
// Of the pixels of a matrix a lane takes two of each four, so that it ends up with sums of four that follow each other.
#define SKEW(column) ((column) / 8u * 2u)
#define LOAD_PIXELS(m, shared, line, column, pitch) load_pixels(m, (shared) + (line), column, pitch, LANE_INDEX)
MATRIX_FUNCTION void load_pixels(uint4 &m, const uint4 *line, uint column, uint pitch, uint lane) {
    uint own = column + lane % 8 / 2 * 4 + lane / 16 * 2 + lane % 2;
    m = load_matrices(line + own * pitch + SKEW(own) + lane / 8 % 2);
}
#define HELD_FOUR(sum, h)                                                                      \
    ((h) == 0u ? make_float4((sum).low.x, (sum).low.y, (sum).high.x, (sum).high.y)             \
               : make_float4((sum).low.z, (sum).low.w, (sum).high.z, (sum).high.w))
// Of a sum an invocation holds HELD_ROWS rows, of each HELD_COLUMNS elements; BESIDE(v, COMBINE, exchange): v of all that hold the same rows.
#define HELD_ROWS 2u
#define HELD_COLUMNS 4u
#define HELD_ROW(r) (LANE_INDEX / 4u + 8u * (r))
#define HELD_COLUMN(c) (LANE_INDEX % 4u * 2u + (c) % 2u + (c) / 2u * 8u)
#define HELD(sum, r, c) ((float *)&(sum))[(c) / 2u * 4u + (r) * 2u + (c) % 2u]
#define BESIDE(v, COMBINE, exchange)                                      \
    v = COMBINE(v, __shfl_xor_sync(0xffffffffu, v, 1));                   \
    v = COMBINE(v, __shfl_xor_sync(0xffffffffu, v, 2));
// A sum as what is multiplied next, from the left: rounded to halves, it is held alike.
#define ROUNDED_LEFT(m, sum, shared, at) m = round_sum(sum)
MATRIX_FUNCTION uint4 round_sum(const MATRIX_SUM &s) {
    return make_uint4(pack_halves(s.low.x, s.low.y), pack_halves(s.low.z, s.low.w), pack_halves(s.high.x, s.high.y), pack_halves(s.high.z, s.high.w));
}
// Each element (row, column) of a sum gets that of (row, 15 - row + column) of two that stand beside each other: a row moves within its four lanes,
// by 7 - row % 8 columns, and by eight more in the upper rows.
#define ADD_SKEWED(sum, left, right, shared, at) add_skewed(sum, left, right, LANE_INDEX)
// Of eight columns and the eight after them, two a lane: the two that are `by` columns further, by < 8.
MATRIX_FUNCTION float2 moved_left(float2 low, float2 high, uint by, uint lane) {
    uint within = lane % 4u, lanes = by / 2u, more = (by + 1u) / 2u;
    bool odd = by % 2u != 0u;
    float first = within >= lanes ? (odd ? low.y : low.x) : (odd ? high.y : high.x);
    float second = within >= more ? (odd ? low.x : low.y) : (odd ? high.x : high.y);
    uint quad = lane & ~3u;
    return make_float2(__shfl_sync(0xffffffffu, first, quad | ((within + lanes) & 3u)),
                       __shfl_sync(0xffffffffu, second, quad | ((within + more) & 3u)));
}
MATRIX_FUNCTION void add_skewed(MATRIX_SUM &sum, const MATRIX_SUM &left, const MATRIX_SUM &right, uint lane) {
    uint by = 7u - lane / 4u;
    float2 left_upper = make_float2(left.high.x, left.high.y), right_upper = make_float2(right.low.x, right.low.y);
    float2 left_lower = make_float2(left.low.z, left.low.w), middle = make_float2(left.high.z, left.high.w);
    float2 a = moved_left(left_upper, right_upper, by, lane);
    float2 b = moved_left(right_upper, make_float2(right.high.x, right.high.y), by, lane);
    float2 c = moved_left(left_lower, middle, by, lane);
    float2 d = moved_left(middle, make_float2(right.low.z, right.low.w), by, lane);
    sum.low.x += a.x, sum.low.y += a.y, sum.high.x += b.x, sum.high.y += b.y;
    sum.low.z += c.x, sum.low.w += c.y, sum.high.z += d.x, sum.high.w += d.y;
}
MATRIX_FUNCTION void store_sum(const MATRIX_SUM &sum, float *to, uint pitch, uint lane) {
    float *at = to + lane / 4 * pitch + lane % 4 * 2;
    *(float2 *)at = make_float2(sum.low.x, sum.low.y);
    *(float2 *)(at + 8) = make_float2(sum.high.x, sum.high.y);
    *(float2 *)(at + 8 * pitch) = make_float2(sum.low.z, sum.low.w);
    *(float2 *)(at + 8 * pitch + 8) = make_float2(sum.high.z, sum.high.w);
}
