// What a convolution or matrix product does with a sum before it stores it. Parameters from `at`: count, then kind, a, b of each.
#define EPILOGUE_OP C2  // a unary op beyond the cheap ones; 0: none
#define EPILOGUE_ARGUMENTS READ(bias, T), READ(residual0, T), READ(residual1, T)
#define EPILOGUE_AT AT(bias), AT(residual0), AT(residual1)
#define EPILOGUE(at, v, channel, place) epilogue(words, at, v, channel, place, bias, residual0, residual1)
float epilogue(constant uint *words, uint at, float v, uint channel, uint place, global const T *bias,
               global const T *residual0, global const T *residual1) {
    uint count = P(at);
    for (uint k = 0; k < count; ++k) {
        uint kind = P(at + 1 + 3 * k);
        float a = PF(at + 2 + 3 * k);
        float b = PF(at + 3 + 3 * k);
        if (kind == 0u) {
            v += LOAD(bias, channel);
        } else if (kind == 1u) {
            v = is_nan(v) ? v : v < 0.0f ? 0.0f : v;
        } else if (kind == 2u) {
            v = v < 0.0f ? a * v : v;
        } else if (kind == 3u) {
            float raised = v < a ? a : v;
            v = is_nan(v) ? v : raised > b ? b : raised;
        } else if (kind == 4u) {
            v *= a;
        } else if (kind == 5u) {
            v += LOAD(residual0, place);
        } else if (kind == 6u) {
            v += LOAD(residual1, place);
        } else {
#if EPILOGUE_OP != 0
            v = unary_op(EPILOGUE_OP, v, a, b);
#endif
        }
    }
    return v;
}
