// What a convolution or matrix product does with a sum before it stores it. Parameters from `at`: count, then kind, a, b of each.
layout(constant_id = 1) const uint EPILOGUE_KINDS = 0;  // 1 + kind of each step, four bits each
layout(constant_id = 2) const uint EPILOGUE_OP = 0;  // a unary op beyond the cheap ones; 0: none
#if defined(FULL_EPILOGUE)
#include "functions.h"
#endif
READ(3, bias, T);
READ(4, residual0, T);
READ(5, residual1, T);
bool not_a_number(float v) { return (floatBitsToUint(v) & 0x7fffffffu) > 0x7f800000u; }
float epilogue(uint at, float v, uint channel, uint place) {
    [[unroll]] for (uint k = 0; k < EPILOGUE_STEPS; ++k) {
        uint kind = (EPILOGUE_KINDS >> (4 * k) & 15u) - 1u;
        if (kind == EPILOGUE_NONE) break;
        float a = WORD_FLOAT(at + 2 + 3 * k);
        float b = WORD_FLOAT(at + 3 + 3 * k);
        if (kind == EPILOGUE_BIAS) v += float(bias[base[2] + channel]);
        else if (kind == EPILOGUE_RELU) v = is_nan(v) ? v : v < 0.0 ? 0.0 : v;
        else if (kind == EPILOGUE_LEAKY) v = v < 0.0 ? a * v : v;
        else if (kind == EPILOGUE_CLIP) {
            float raised = v < a ? a : v;
            v = is_nan(v) ? v : raised > b ? b : raised;
        }
        else if (kind == EPILOGUE_SCALE) v *= a;
        else if (kind == EPILOGUE_ADD_FIRST) v += float(residual0[base[3] + place]);
        else if (kind == EPILOGUE_ADD_SECOND) v += float(residual1[base[4] + place]);
#if defined(FULL_EPILOGUE)
        else if (EPILOGUE_OP != 0u) v = unary_op(EPILOGUE_OP, v, a, b);
#endif
    }
    return v;
}
