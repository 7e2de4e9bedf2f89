// clang-format off
// What the dialects of languages with pointers have in common, OpenCL C and CUDA C++: an operand is a pointer to its first element. Their prelude.h
// includes it at its head, and says what GLOBAL and U64 are.
#define U64_OF(low, high) ((U64)(high) << 32 | (low))
#define LOW_WORD(v) ((uint)(v))
#define HIGH_WORD(v) ((uint)((v) >> 32))
#define U8 uchar
#define U16 ushort
#define CAST(type, x) ((type)(x))
#define PRECISE
#define UNROLL _Pragma("unroll")
#define NAMED(kind, name, type) kind(name, type)
#define READ(name, type) GLOBAL const type *name
#define WRITE(name, type) GLOBAL type *name
#define ARGUMENT(number, operand) , NAMED operand
#define BEGIN
#define END }
#define RAW(name, i) (name)[i]
#define PUT_RAW(name, i, v) (name)[i] = (v)
// Of weights.
#if defined(HALF) || defined(HALF_WEIGHTS)
#define U F16
#define LOAD_U LOAD_HALF
#else
#define U float
#define LOAD_U RAW
#endif
// Elements that are only moved, of 8 bytes, and of any size.
#define M_8 U64
#define M_OF(low, high) ((M)U64_OF(low, high))
// An operand of halves that is read eight at a time, too, where it lies so that the device can.
#define IN_EIGHTS(number, name)
#define ALIGNED_8(p, i) (((U64)((p) + (i)) & 15) == 0)
#define LOAD_8(p, i) (*(const GLOBAL uint4 *)((U64)((p) + (i)) & ~(U64)15))
// An operand of bytes as one of T.
#define NUMBERS_IN(p) ((const GLOBAL T *)(p))
#define HALF_BITS(p, i) ((uint)((const GLOBAL ushort *)(p))[i])
// An operand of U16 that is read two at a time, too, where it lies so. What is not there may bring anything.
#define IN_TWOS(number, name)
#define ALIGNED_2(p, i) (((U64)((p) + (i)) & 3) == 0)
#define LOAD_2(p, i, there) (there ? *(const GLOBAL uint *)((p) + (i)) : 0u)
#define LOAD_1(p, i, there) (there ? (p)[i] : 0)
#define OR_ZEROS(v, ones, there) (v)  // they are, at once: a load under a condition costs nothing here
// Four elements that lie so that the device can take them at once: of the result, and of an operand, of which of the first `count` of four elements what
// is not there may be anything.
#define IN_FOURS(number, name)
#define READ_IN_FOURS(number, name)
#define ALIGNED_4(p) (((U64)(p) & (4 * sizeof(T) - 1)) == 0)
#define ALIGNED_WIDE(p, n) (((U64)(p) & 15) == 0)
#define STORE_4(p, i, v, count) store_4(p, i, v, count)
#define LOAD_4(v, p, i, count) v = load_4(p, i, count);
#define LOAD_FOUR(p, i) FOUR_AT((p) + (i))
#define LOAD_FOUR_BEHIND(p, i, n) FOUR_AT((p) + (i) + (n))
