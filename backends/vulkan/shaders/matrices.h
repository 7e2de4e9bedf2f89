#pragma use_vulkan_memory_model
#extension GL_KHR_memory_scope_semantics : require
#extension GL_NV_cooperative_matrix : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_shader_16bit_storage : require
// clang-format off
// The matrix units, as common/gpu/kernels/matmul_matrix.kernel asks for them (docs/gpu-api.md): a subgroup of 32 multiplies matrices of 16 x 16.
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
