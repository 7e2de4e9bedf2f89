// clang-format off
// What a convolution or matrix product does with a sum before it stores it. Parameters from `at`: count, then kind, a, b of each. The kinds are
// known when the kernel is built: what is not done costs nothing, and as parameters they made kernels that took four times as long to build.
CONSTANT(1, EPILOGUE_KINDS, 0)  // 1 + kind of each step, four bits each
CONSTANT(2, EPILOGUE_OP, 0)     // a unary op beyond the cheap ones; 0: none
#if defined(FULL_EPILOGUE)
#if defined(HALF) && !defined(EXACT_DIVISION)  // what is left of a sum is rounded to f16: the language's own is as good there
#define EXACT_DIVISION
#endif
#include "functions.h"
#endif
#define EPILOGUE_KIND(k) ((EPILOGUE_KINDS >> (4u * (k)) & 15u) - 1u)
// A step that reads no operand.
FUNCTION float epilogue_step(uint kind, float v, float a, float b) {
    if (kind == EPILOGUE_RELU) return is_nan(v) ? v : v < 0.0f ? 0.0f : v;
    if (kind == EPILOGUE_LEAKY) return v < 0.0f ? a * v : v;
    if (kind == EPILOGUE_CLIP) {
        float raised = v < a ? a : v;
        return is_nan(v) ? v : raised > b ? b : raised;
    }
    if (kind == EPILOGUE_SCALE) return v * a;
#if defined(FULL_EPILOGUE) && !defined(STEPS_AT_RUN_TIME)
    if (EPILOGUE_OP != 0u) return unary_op(EPILOGUE_OP, v, a, b);
#endif
    return v;
}
#if defined(STEPS_AT_RUN_TIME)  // kernels are compiled before the steps are known: one function that is called, and that the kinds and the op are told
FUNCTION_APART float finished_by(uint kinds, uint op, const uint *steps, float v, const T *bias, const T *residual0, const T *residual1, uint channel, uint place) {
    UNROLL_STEPS for (uint step = 0u; step < EPILOGUE_STEPS; ++step) {
        uint kind = (kinds >> (4u * step) & 15u) - 1u;
        if (kind == EPILOGUE_NONE) break;
        if (kind == EPILOGUE_BIAS) v += LOAD(bias, channel);
        else if (kind == EPILOGUE_ADD_FIRST) v += LOAD(residual0, place);
        else if (kind == EPILOGUE_ADD_SECOND) v += LOAD(residual1, place);
#if defined(FULL_EPILOGUE)
        else if (kind == EPILOGUE_FUNCTION) v = unary_op(op, v, AS_FLOAT(steps[2u + 3u * step]), AS_FLOAT(steps[3u + 3u * step]));
#endif
        else v = epilogue_step(kind, v, AS_FLOAT(steps[2u + 3u * step]), AS_FLOAT(steps[3u + 3u * step]));
    }
    return v;
}
#define FINISH(at, v, channel, place) \
    if (EPILOGUE_KINDS != 0u) v = finished_by(EPILOGUE_KINDS, EPILOGUE_OP, WORDS_FROM(at), v, bias, residual0, residual1, channel, place);
#else
// v of a channel or column, at its place in the result. A loop, unrolled by the driver once it knows the kinds: as six steps in the text the
// SPIR-V of a kernel that finishes many sums was four times as large, and glslc took a minute for it.
#define FINISH(at, v, channel, place)                                                      \
    UNROLL for (uint step_ = 0u; step_ < EPILOGUE_STEPS; ++step_) {                        \
        uint kind_ = EPILOGUE_KIND(step_);                                                 \
        if (kind_ == EPILOGUE_NONE) break;                                                 \
        if (kind_ == EPILOGUE_BIAS) v += LOAD(bias, channel);                              \
        else if (kind_ == EPILOGUE_ADD_FIRST) v += LOAD(residual0, place);                 \
        else if (kind_ == EPILOGUE_ADD_SECOND) v += LOAD(residual1, place);                \
        else v = epilogue_step(kind_, v, WORD_FLOAT((at) + 2u + 3u * step_), WORD_FLOAT((at) + 3u + 3u * step_)); \
    }
#endif
// Is this among the kinds?
FUNCTION bool has_kind(uint kinds, uint kind) {
    return (kinds & 15u) == kind + 1u || (kinds >> 4 & 15u) == kind + 1u || (kinds >> 8 & 15u) == kind + 1u ||
           (kinds >> 12 & 15u) == kind + 1u || (kinds >> 16 & 15u) == kind + 1u || (kinds >> 20 & 15u) == kind + 1u;
}
#define HAS_STEP(kind) has_kind(EPILOGUE_KINDS, kind)
