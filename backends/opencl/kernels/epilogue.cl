// What a convolution or matrix product does with a sum before it stores it. Parameters from `at`: count, then kind, a, b of each.
#define EPILOGUE_KINDS C1  // 1 + kind of each step, four bits each: what is not done costs nothing
#define EPILOGUE_KIND(k) ((EPILOGUE_KINDS >> (4 * (k)) & 15) - 1u)
#define EPILOGUE_OP C2  // a unary op beyond the cheap ones; 0: none
#define EPILOGUE_ARGUMENTS READ(bias, T), READ(residual0, T), READ(residual1, T)
#define EPILOGUE_AT AT(bias), AT(residual0), AT(residual1)
#define EPILOGUE(at, v, channel, place) epilogue(words, at, v, channel, place, bias, residual0, residual1)
float epilogue_step(constant uint *words, uint kind, uint at, float v, uint channel, uint place, global const T *bias,
                    global const T *residual0, global const T *residual1) {
    float a = WORD_FLOAT(at + 1);
    float b = WORD_FLOAT(at + 2);
    if (kind == EPILOGUE_BIAS) return v + LOAD(bias, channel);
    if (kind == EPILOGUE_RELU) return is_nan(v) ? v : v < 0.0f ? 0.0f : v;
    if (kind == EPILOGUE_LEAKY) return v < 0.0f ? a * v : v;
    if (kind == EPILOGUE_CLIP) {
        float raised = v < a ? a : v;
        return is_nan(v) ? v : raised > b ? b : raised;
    }
    if (kind == EPILOGUE_SCALE) return v * a;
    if (kind == EPILOGUE_ADD_FIRST) return v + LOAD(residual0, place);
    if (kind == EPILOGUE_ADD_SECOND) return v + LOAD(residual1, place);
#if EPILOGUE_OP != 0
    v = unary_op(EPILOGUE_OP, v, a, b);
#endif
    return v;
}
#define EPILOGUE_STEP(k)                                                                                                    \
    if (EPILOGUE_KIND(k) != EPILOGUE_NONE)                                                                            \
    v = epilogue_step(words, EPILOGUE_KIND(k), at + 1 + 3 * (k), v, channel, place, bias, residual0, residual1)
float epilogue(constant uint *words, uint at, float v, uint channel, uint place, global const T *bias,
               global const T *residual0, global const T *residual1) {
    EPILOGUE_STEP(0);
    EPILOGUE_STEP(1);
    EPILOGUE_STEP(2);
    EPILOGUE_STEP(3);
    EPILOGUE_STEP(4);
    EPILOGUE_STEP(5);
    return v;
}
