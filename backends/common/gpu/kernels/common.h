// clang-format off
// What every kernel starts with: the dialect in the language of the Api (its own prelude.h), then what is written once on top of it.
// docs/gpu-api.md says what a prelude must define.
#include "kernel_ids.h"
#include "kernel_parameters.h"
#include "prelude.h"

// A kernel and its operands, counted from 1: KERNEL_3(name, parameters, (READ, x, T), ...), of what a language makes of each in front of the kernel's text
// (ARGUMENT) and at its head (OPERAND).
#define EACH_2(EACH, a, b) EACH(1, a)EACH(2, b)
#define EACH_3(EACH, a, b, c) EACH_2(EACH, a, b)EACH(3, c)
#define EACH_4(EACH, a, b, c, d) EACH_3(EACH, a, b, c)EACH(4, d)
#define EACH_5(EACH, a, b, c, d, e) EACH_4(EACH, a, b, c, d)EACH(5, e)
#define EACH_6(EACH, a, b, c, d, e, f) EACH_5(EACH, a, b, c, d, e)EACH(6, f)
#define EACH_7(EACH, a, b, c, d, e, f, g) EACH_6(EACH, a, b, c, d, e, f)EACH(7, g)
#define EACH_8(EACH, a, b, c, d, e, f, g, h) EACH_7(EACH, a, b, c, d, e, f, g)EACH(8, h)
#define EACH_9(EACH, a, b, c, d, e, f, g, h, i) EACH_8(EACH, a, b, c, d, e, f, g, h)EACH(9, i)
#define KERNEL_2(name, parameters, a, b) KERNEL_OF(name, parameters, a, EACH_2(ARGUMENT, a, b), EACH_2(OPERAND, a, b))
#define KERNEL_3(name, parameters, a, b, c) KERNEL_OF(name, parameters, a, EACH_3(ARGUMENT, a, b, c), EACH_3(OPERAND, a, b, c))
#define KERNEL_4(name, parameters, a, b, c, d) \
    KERNEL_OF(name, parameters, a, EACH_4(ARGUMENT, a, b, c, d), EACH_4(OPERAND, a, b, c, d))
#define KERNEL_5(name, parameters, a, b, c, d, e) \
    KERNEL_OF(name, parameters, a, EACH_5(ARGUMENT, a, b, c, d, e), EACH_5(OPERAND, a, b, c, d, e))
#define KERNEL_6(name, parameters, a, b, c, d, e, f) \
    KERNEL_OF(name, parameters, a, EACH_6(ARGUMENT, a, b, c, d, e, f), EACH_6(OPERAND, a, b, c, d, e, f))
#define KERNEL_7(name, parameters, a, b, c, d, e, f, g) \
    KERNEL_OF(name, parameters, a, EACH_7(ARGUMENT, a, b, c, d, e, f, g), EACH_7(OPERAND, a, b, c, d, e, f, g))
#define KERNEL_8(name, parameters, a, b, c, d, e, f, g, h) \
    KERNEL_OF(name, parameters, a, EACH_8(ARGUMENT, a, b, c, d, e, f, g, h), EACH_8(OPERAND, a, b, c, d, e, f, g, h))
#define KERNEL_9(name, parameters, a, b, c, d, e, f, g, h, i) \
    KERNEL_OF(name, parameters, a, EACH_9(ARGUMENT, a, b, c, d, e, f, g, h, i), EACH_9(OPERAND, a, b, c, d, e, f, g, h, i))

#define K_INFINITY AS_FLOAT(0x7f800000u)
#define K_NAN AS_FLOAT(0x7fc00000u)
// By its bits: compilers may take it that nothing is NaN when they see a comparison, and make max() of one.
FUNCTION bool is_nan(float x) { return (AS_UINT(x) & 0x7fffffffu) > 0x7f800000u; }
FUNCTION bool is_infinite(float x) { return (AS_UINT(x) & 0x7fffffffu) == 0x7f800000u; }
FUNCTION float larger(float a, float b) { return is_nan(a) ? a : is_nan(b) ? b : a > b ? a : b; }
FUNCTION float smaller(float a, float b) { return is_nan(a) ? a : is_nan(b) ? b : a < b ? a : b; }

// Elements that a kernel computes with: E in memory, V as values. INTEGER: whole numbers, of 64 bits with LONG; they wrap.
#if defined(INTEGER)
#if defined(LONG)
#define E I64
#define WRAPPED U64
#define E_OF(low, high) CAST(I64, U64_OF(low, high))
#else
#define E int
#define WRAPPED uint
#define E_OF(low, high) CAST(int, low)
#endif
#define V E
#define LOAD_E RAW
#define STORE_E PUT_RAW
#define COMPUTED(a, op, b) CAST(E, CAST(WRAPPED, a) op CAST(WRAPPED, b))  // COMPUTED(a, +, b); - and *, too
#define MINUS(a) COMPUTED(0, -, a)
#define MAGNITUDE(a) ((a) < CAST(E, 0) ? MINUS(a) : (a))
#define LARGER(a, b) ((a) > (b) ? (a) : (b))
#define SMALLER(a, b) ((a) < (b) ? (a) : (b))
#else
#define E T
#define V float
#define LOAD_E LOAD
#define STORE_E STORE
#define COMPUTED(a, op, b) ((a) op (b))
#define MAGNITUDE ABS
#define LARGER larger
#define SMALLER smaller
#endif

// Elements that are only moved, of SIZE bytes.
#if SIZE == 1
#define M U8
#elif SIZE == 2
#define M U16
#elif SIZE == 8
#define M M_8
#else
#define M uint
#endif

#define INVOCATION_INDEX (GROUP_INDEX * LOCAL + LOCAL_INDEX)
// Which of P.elements is this invocation's.
#define ELEMENT(i)             \
    uint i = INVOCATION_INDEX; \
    if (i >= P.elements) return;

// A workgroup's share of 0 to n - 1, the same number of rounds for each invocation: PoCL lets those without a first round have one when
// a loop begins at different places.
#define FOR_EACH_OF(i, n)                                                  \
    for (uint i##_round = 0u, i = 0u; i##_round < (n); i##_round += LOCAL) \
        if ((i = i##_round + LOCAL_INDEX) < (n))

// v of all invocations of the workgroup together, in an order that depends on LOCAL alone; a prelude may have its own. A macro, and at the top level of
// a kernel only: PoCL goes astray at the barriers of a function that is called twice, or conditionally.
#if !defined(GROUP_REDUCE)
#define GROUP_REDUCE(v, partial, COMBINE)                                                                 \
    partial[LOCAL_INDEX] = v;                                                                             \
    BARRIER;                                                                                              \
    for (uint step_ = LOCAL / 2u; step_ > 0u; step_ /= 2u) {                                              \
        if (LOCAL_INDEX < step_) partial[LOCAL_INDEX] = COMBINE(partial[LOCAL_INDEX], partial[LOCAL_INDEX + step_]); \
        BARRIER;                                                                                          \
    }                                                                                                     \
    v = partial[0];                                                                                       \
    BARRIER;
#endif
#define DOT_8(a, b, x, y) \
    FUSED(PART(b, 3), PART(y, 3), FUSED(PART(b, 2), PART(y, 2), FUSED(PART(b, 1), PART(y, 1), FUSED(PART(b, 0), PART(y, 0), dot(a, x)))))
#define SUM_OF_TWO(a, b) ((a) + (b))
#define GROUP_SUM(v, partial) GROUP_REDUCE(v, partial, SUM_OF_TWO)
// The sums of ROWS numbers v[] of each invocation: partial[r * LOCAL] is that of v[r].
#define GROUP_SUM_OF_ROWS(v, partial)                                                                                          \
    UNROLL_ON_GPUS for (uint r_ = 0u; r_ < ROWS; ++r_) partial[r_ * LOCAL + LOCAL_INDEX] = v[r_];                              \
    BARRIER;                                                                                                                   \
    for (uint step_ = LOCAL / 2u; step_ > 0u; step_ /= 2u) {                                                                   \
        if (LOCAL_INDEX < step_) {                                                                                             \
            for (uint r_ = 0u; r_ < ROWS; ++r_) partial[r_ * LOCAL + LOCAL_INDEX] += partial[r_ * LOCAL + LOCAL_INDEX + step_]; \
        }                                                                                                                      \
        BARRIER;                                                                                                               \
    }

// Element i of the nest of loops whose words begin at `at`: its places `a` and `b` in two strided operands, or `a` in one.
#define NEST_WALK(at, i, STEP)                                  \
    {                                                           \
        uint left_ = i;                                         \
        for (uint d_ = WORD(at); d_-- > 0u;) {                  \
            uint size_ = WORD((at) + NEST_SIZES + d_);          \
            uint next_ = left_ / size_;                         \
            uint k_ = d_ == 0u ? left_ : left_ - next_ * size_; \
            left_ = next_;                                      \
            STEP                                                \
        }                                                       \
    }
#define NEST_PLACE(at, i, a) \
    uint a = 0u;             \
    NEST_WALK(at, i, a += k_ * WORD((at) + NEST_STRIDES + d_);)
#define NEST_PLACES(at, i, a, b) \
    uint a = 0u;                 \
    uint b = 0u;                 \
    NEST_WALK(at, i, a += k_ * WORD((at) + NEST_STRIDES + d_); b += k_ * WORD((at) + NEST_SECOND_STRIDES + d_);)
#define NEST_PLACES_3(at, i, a, b, c)                                                                                          \
    uint a = 0u;                                                                                                               \
    uint b = 0u;                                                                                                               \
    uint c = 0u;                                                                                                               \
    NEST_WALK(at, i, a += k_ * WORD((at) + NEST_STRIDES + d_); b += k_ * WORD((at) + NEST_SECOND_STRIDES + d_); \
              c += k_ * WORD((at) + NEST_THIRD_STRIDES + d_);)
