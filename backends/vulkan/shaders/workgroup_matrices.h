// What kernels on matrices of whole workgroups ask for (VK_NV_cooperative_matrix2): the driver brings such a matrix from memory and decides who holds what.
#pragma use_vulkan_memory_model
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_NV_cooperative_matrix2 : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_shader_16bit_storage : require
#define LEFT(down, across) coopmat<float16_t, gl_ScopeWorkgroup, down, across, gl_MatrixUseA>
#define RIGHT(down, across) coopmat<float16_t, gl_ScopeWorkgroup, down, across, gl_MatrixUseB>
#define SUMS(down, across) coopmat<float, gl_ScopeWorkgroup, down, across, gl_MatrixUseAccumulator>
#define ROUNDED(down, across) coopmat<float16_t, gl_ScopeWorkgroup, down, across, gl_MatrixUseAccumulator>
#define MATRIX_OF(name, down, across) \
    tensorLayoutNV<2> name = setTensorLayoutDimensionNV(createTensorLayoutNV(2), down, across);
// mode: 1: what lies outside is zeros, and is not stored.
#define CLAMPED_MATRIX_OF(name, down, across, mode) \
    tensorLayoutNV<2, mode> name = setTensorLayoutDimensionNV(createTensorLayoutNV(2, mode), down, across);
#define TURNED createTensorViewNV(2, false, 1, 0)
// A multiple of eight, as the compiler can see.
#define EIGHTS(n) ((n) & ~7u)
