// What every kernel starts with. Variants are made by -D: T is the element type of operands, U of weights; see CMakeLists.txt.
#extension GL_EXT_control_flow_attributes : require
#if defined(HALF)
#extension GL_EXT_shader_16bit_storage : require
#endif
#if defined(SHORT)
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types_int16 : require
#endif
#if defined(BYTE)
#extension GL_EXT_shader_8bit_storage : require
#endif
#if defined(LONG)
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#endif

layout(local_size_x_id = 0) in;

// First element of each operand: where a tensor does not start at a descriptor's alignment.
layout(push_constant) uniform Push { uint base[7]; };
#include "kernel_ids.h"
#include "kernel_parameters.h"
// The parameters of this dispatch: as the record of the kernel, P.field, and as words, for its lists.
#define PARAMETERS(name) layout(set = 0, binding = 0, std140) uniform name##Block { name##Parameters P; };
layout(set = 0, binding = 0, std140) uniform Words { uvec4 words[32]; };
uint WORD(uint i) { return words[i >> 2][i & 3]; }
float WORD_FLOAT(uint i) { return uintBitsToFloat(WORD(i)); }

// Workgroups and invocations counted through; a long range is dispatched in rows.
uint group_index() { return gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x; }
uint invocation_index() { return group_index() * gl_WorkGroupSize.x + gl_LocalInvocationID.x; }

#define READ(number, name, type) \
    layout(set = 0, binding = number, std430) readonly buffer Operand##number { type name[]; }
#define WRITE(number, name, type) \
    layout(set = 0, binding = number, std430) writeonly buffer Operand##number { type name[]; }

#if defined(HALF)
#define T float16_t
#else
#define T float
#endif
