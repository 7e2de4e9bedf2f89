#pragma use_vulkan_memory_model
#extension GL_KHR_memory_scope_semantics : require
#extension GL_NV_cooperative_matrix : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_shader_16bit_storage : require
// clang-format off
// The matrix units, as the kernels that use them ask (docs/gpu-api.md): a subgroup of 32 multiplies matrices of 16 x 16.
// Which matrix of an array is meant must be known when the kernel is built: one that is indexed at run time goes to memory.
#define UNROLL_MATRICES [[unroll]]
#define WARP_INDEX gl_SubgroupID
#define LANE_INDEX gl_SubgroupInvocationID
#define WARP_BARRIER subgroupBarrier()
#define MATRIX_A fcoopmatNV<16, gl_ScopeSubgroup, 16, 16>
#define MATRIX_B fcoopmatNV<16, gl_ScopeSubgroup, 16, 16>
#define MATRIX_SUM fcoopmatNV<32, gl_ScopeSubgroup, 16, 16>
#define CLEAR_SUM(sum) sum = MATRIX_SUM(0.0)
#define LOAD_MATRIX(m, shared_, at, pitch, turned)              \
    if (turned) coopMatLoadNV(m, shared_, at, pitch, true);     \
    else coopMatLoadNV(m, shared_, at, pitch, false);
#define LOAD_A(m, shared_, at, pitch, turned) LOAD_MATRIX(m, shared_, at, pitch, turned)
#define LOAD_B(m, shared_, at, pitch, turned) LOAD_MATRIX(m, shared_, at, pitch, turned)
#define MULTIPLY(sum, a, b) sum = coopMatMulAddNV(a, b, sum)
#define STORE_SUM(sum, shared_, at, pitch) coopMatStoreNV(sum, shared_, at, pitch, false)
#define STAGED(shared_, at, pitch, row, column) uintBitsToFloat(shared_[(at) + (row) * (pitch) + (column) / 4u][(column) % 4u])
#define STAGED_4(shared_, at, pitch, row, four) uintBitsToFloat(shared_[(at) + (row) * (pitch) + (four)])
// Shared memory that is written by the half; a place in it, or a pitch, as LOAD_A takes it.
#define H float16_t
#define SHARED_HALVES(name, count) shared float16_t name[count];
#define PUT_HALF(name, i, v) name[i] = v
#define HALVES(n) (n)
// Pixels that follow each other, channels together: 16 x 16 from a place in a line on. No gaps but the pitch.
#define SKEW(column) 0u
#define LOAD_PIXELS(m, shared_, line, column, pitch) coopMatLoadNV(m, shared_, (line) + (column) * (pitch), pitch, true)
// A matrix as each invocation holds it, eight elements in order.
#define FILTERS MATRIX_A
#define MULTIPLY_FILTERS MULTIPLY
#define PUT_TWO(m, i, bits) { f16vec2 two_ = unpackFloat2x16(bits); m[i] = two_.x; m[i + 1] = two_.y; }
#define LOAD_FILTERS(m, name, i, further)                                                      \
    {                                                                                          \
        uvec4 v_ = RAW(name, (i) + (further) + LANE_INDEX);                                    \
        PUT_TWO(m, 0, v_.x) PUT_TWO(m, 2, v_.y) PUT_TWO(m, 4, v_.z) PUT_TWO(m, 6, v_.w)        \
    }
#define TWO_OF(m, i) packFloat2x16(f16vec2(m[i], m[i + 1]))
#define FILTERS_OF(m) uvec4(TWO_OF(m, 0), TWO_OF(m, 2), TWO_OF(m, 4), TWO_OF(m, 6))
