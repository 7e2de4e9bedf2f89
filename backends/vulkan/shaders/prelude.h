// clang-format off
// The dialect of the kernels that are written once (common/gpu/kernels), in GLSL for Vulkan 1.1. One kernel a file, one file a module.
// Variants are made by -D: HALF, and what extensions or features they need: BYTE, SHORT, LONG, DOUBLE.
#extension GL_EXT_control_flow_attributes : require
#if defined(HALF) || defined(HALF_WEIGHTS)
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
#define I64 int64_t
#define U64 uint64_t
#define U64_OF(low, high) packUint2x32(uvec2(low, high))
#define LOW_WORD(v) unpackUint2x32(v).x
#define HIGH_WORD(v) unpackUint2x32(v).y
#endif
#if defined(DOUBLE)
#define F64 double
#define DOUBLE_OF(low, high) packDouble2x32(uvec2(low, high))
#define DOUBLE_MOST packDouble2x32(uvec2(0xffffffffu, 0x7fefffffu))
#define FLOOR_DOUBLE(x) floor(x)
#define CEIL_DOUBLE(x) ceil(x)
#endif
layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint LOCAL = 64;
#define CONSTANT(number, name, otherwise) layout(constant_id = number) const uint name = otherwise;

#define float2 vec2
#define float4 vec4
#define uint2 uvec2
#define uint4 uvec4
#define U8 uint8_t
#define U16 uint16_t
#define CAST(type, x) type(x)
#define FLOAT2(a, b) vec2(a, b)
#define FLOAT4(a, b, c, d) vec4(a, b, c, d)
#define ALL_4(x) vec4(x)
#define UINT2(a, b) uvec2(a, b)
#define UINT4(a, b, c, d) uvec4(a, b, c, d)
#define AS_UINT(x) floatBitsToUint(x)
#define AS_FLOAT(x) uintBitsToFloat(x)
#define ABS(x) abs(x)
#define FUSED fma
#define ROUND_EVEN(x) roundEven(x)
#define TOP_BIT(x) findMSB(x)
#define PRECISE precise
#define FUNCTION
#define UNROLL [[unroll]]
#define UNROLL_ON_GPUS UNROLL
#define UNROLL_STEPS UNROLL
// Element j of four; element i of an array of fours.
#define PART(v, j) v[j]
#define PUT_PART(array, i, v) array[(i) >> 2][(i) & 3u] = v

// First element of each operand: where a tensor does not start at a descriptor's alignment.
layout(push_constant) uniform Push { uint base[9]; };
// The parameters of this dispatch: as the record of the kernel, P.field, and as words, for its lists.
#define PARAMETERS(name) layout(set = 0, binding = 0, std140) uniform name##Block { name##Parameters P; };
layout(set = 0, binding = 0, std140) uniform Words { uvec4 words[32]; };
#define WORD(i) words[(i) >> 2][(i) & 3u]
#define WORD_FLOAT(i) uintBitsToFloat(WORD(i))

#define READ(number, name, type) \
    layout(set = 0, binding = number, std430) readonly buffer Operand##number { type name[]; }
#define WRITE(number, name, type) \
    layout(set = 0, binding = number, std430) writeonly buffer Operand##number { type name[]; }
#define DECLARED(number, kind, name, type) kind(number, name, type); uint first_##name() { return base[number - 1]; }
#define DECLARED_AS(number, parts) DECLARED(number, parts)
#define PARTS_OF(kind, name, type) kind, name, type
#define OPERAND(number, operand) DECLARED_AS(number, PARTS_OF operand)
#define ARGUMENT(number, operand)
#define KERNEL_OF(name, parameters, first, arguments, operands) PARAMETERS(parameters) operands
#define SHARED(type, name, count) shared type name[count];
#define BEGIN void main() {
#define END }
#define LOCAL_INDEX gl_LocalInvocationID.x
// Workgroups counted through; a long range is dispatched in rows.
#define GROUP_INDEX (gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x)
#define GROUP_COUNT (gl_NumWorkGroups.x * gl_NumWorkGroups.y)
#define BATCH_INDEX gl_WorkGroupID.z
#define BARRIER barrier()

#define RAW(name, i) name[first_##name() + (i)]
#define PUT_RAW(name, i, v) name[first_##name() + (i)] = v
#if defined(HALF)
#define T float16_t
#else
#define T float
#endif
// Of weights.
#if defined(HALF_WEIGHTS)
#define U float16_t
#else
#define U T
#endif
#define F16 float16_t
#define LOAD(name, i) float(RAW(name, i))
#define LOAD_U LOAD
#define LOAD_HALF LOAD
#define STORE(name, i, v) PUT_RAW(name, i, T(v))
// Elements that are only moved, of 8 bytes, and of any size.
#define M_8 uvec2
#if SIZE == 8
#define M_OF(low, high) uvec2(low, high)
#else
#define M_OF(low, high) M(low)
#endif
// An operand of halves that is read eight at a time, too, where it lies so that the device can.
#define IN_EIGHTS(number, name) \
    layout(set = 0, binding = number, std430) readonly buffer Eights##number { uvec4 eights_##name[]; };
#define ALIGNED_8(name, i) ((first_##name() + (i)) % 8u == 0u)
#define LOAD_8(name, i) eights_##name[(first_##name() + (i)) / 8u]
#define HALF_BITS(name, i) packHalf2x16(vec2(LOAD(name, i), 0.0))
// Sixteen bytes of an operand that is IN_EIGHTS, its `n` elements from i on, where it begins so that the device can; eight halves of it.
#define ALIGNED_WIDE(name, n) (first_##name() % (n) == 0u)
#define LOAD_WIDE(words, name, i, n)                                   \
    {                                                                  \
        uvec4 v_ = eights_##name[(first_##name() + (i)) / (n)];        \
        words[0] = v_.x, words[1] = v_.y, words[2] = v_.z, words[3] = v_.w; \
    }
#define LOAD_HALVES(low, high, name, i)                                \
    {                                                                  \
        uvec4 v_ = LOAD_8(name, i);                                    \
        low = vec4(unpackHalf2x16(v_.x), unpackHalf2x16(v_.y));        \
        high = vec4(unpackHalf2x16(v_.z), unpackHalf2x16(v_.w));       \
    }
#define LOAD_FOUR_HALVES(v, name, i)                                   \
    {                                                                  \
        uvec4 v_ = LOAD_8(name, i);                                    \
        uvec2 half_ = (i) % 8u == 0u ? v_.xy : v_.zw;                  \
        v = vec4(unpackHalf2x16(half_.x), unpackHalf2x16(half_.y));    \
    }
// An operand of U16 that is read two at a time, too, where it lies so. What is not there brings anything here: OR_ZEROS makes zeros of it, later.
#define IN_TWOS(number, name) \
    layout(set = 0, binding = number, std430) readonly buffer Twos##number { uint twos_##name[]; };
#define ALIGNED_2(name, i) ((first_##name() + (i)) % 2u == 0u)
#define LOAD_2(name, i, there) twos_##name[there ? (first_##name() + (i)) / 2u : 0u]
#define LOAD_1(name, i, there) name[there ? first_##name() + (i) : 0u]
#define OR_ZEROS(v, ones, there) ((there) ? (v) & (ones) : 0u)
// The result is stored in fours, too; the first `count` of four elements, at once where they lie so that the device can.
#if defined(HALF)
#define T4 f16vec4
#else
#define T4 vec4
#endif
#define IN_FOURS(number, name) \
    layout(set = 0, binding = number, std430) writeonly buffer Fours##number { T4 fours_##name[]; };
#define STORE_4(name, i, v, count)                                             \
    {                                                                          \
        vec4 v_ = v;                                                           \
        bool at_once_ = count > 3 && (first_##name() + (i)) % 4u == 0u;        \
        if (at_once_) fours_##name[(first_##name() + (i)) / 4u] = T4(v_);      \
        if (!at_once_ && count > 0) STORE(name, i, v_.x);                      \
        if (!at_once_ && count > 1) STORE(name, (i) + 1u, v_.y);               \
        if (!at_once_ && count > 2) STORE(name, (i) + 2u, v_.z);               \
        if (!at_once_ && count > 3) STORE(name, (i) + 3u, v_.w);               \
    }
// An operand that is read in fours, too; of the first `count` of four elements, what is not there may be anything.
#define READ_IN_FOURS(number, name) \
    layout(set = 0, binding = number, std430) readonly buffer Fours##number { T4 fours_##name[]; };
#define ALIGNED_4(name) (first_##name() % 4u == 0u)
#define LOAD_FOUR(name, i) vec4(fours_##name[(first_##name() + (i)) / 4u])
#define LOAD_FOUR_BEHIND(name, i, n) vec4(fours_##name[(first_##name() + (i)) / 4u + (n) / 4u])
#define LOAD_4(v, name, i, count)                                              \
    {                                                                          \
        bool at_once_ = count > 3 && (first_##name() + (i)) % 4u == 0u;        \
        v = vec4(fours_##name[at_once_ ? (first_##name() + (i)) / 4u : 0u]);   \
        if (!at_once_ && count > 0) v.x = LOAD(name, i);                       \
        if (!at_once_ && count > 1) v.y = LOAD(name, (i) + 1u);                \
        if (!at_once_ && count > 2) v.z = LOAD(name, (i) + 2u);                \
        if (!at_once_ && count > 3) v.w = LOAD(name, (i) + 3u);                \
    }
// What an invocation of conv_direct makes: four pixels, as many apart as there are invocations.
#define MANY 4u
#define PLACE uint
#define MANY_FLOATS vec4
#define PIXEL_OF(p) (LOCAL_INDEX + (p) * LOCAL)
#define SIDE_BY_SIDE false
#define LOAD_MANY(v, name, i)
#define ALL_OF_MANY(x) vec4(x)
#define PART_OF_MANY(v, p) v[p]
