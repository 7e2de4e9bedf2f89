// Element-wise ops of two operands, BP_OP_* of ops.h.
#if defined(INTEGER)
FUNCTION V quotient(V a, V b) { return b == CAST(E, 0) ? CAST(E, 0) : b == CAST(E, -1) ? MINUS(a) : a / b; }
FUNCTION V left_of(V a, V b, uint truncates) {
    if (b == CAST(E, 0) || b == CAST(E, -1)) return CAST(E, 0);
    V rest = COMPUTED(a, -, COMPUTED(a / b, *, b));
    bool other_sign = rest != CAST(E, 0) && (rest < CAST(E, 0)) != (b < CAST(E, 0));
    return truncates == 0u && other_sign ? rest + b : rest;
}
// b below 0: what 1 / a^-b truncates to, 0 where a is 0.
FUNCTION V power(V a, V b) {
    V one = CAST(E, 1);
    if (b < CAST(E, 0)) return a != one && a != MINUS(one) ? CAST(E, 0) : (b & one) == one ? a : one;
    V result = one;
    V square = a;
    for (V left = b; left > CAST(E, 0); left = left / CAST(E, 2)) {
        if ((left & one) == one) result = COMPUTED(result, *, square);
        square = COMPUTED(square, *, square);
    }
    return result;
}
#else
FUNCTION V quotient(V a, V b) { return QUOTIENT(a, b); }
FUNCTION V left_of(V a, V b, uint truncates) { return fmod_(a, b); }
FUNCTION V power(V a, V b) { return pow_(a, b); }
#endif
FUNCTION V apply(uint op, V a, V b, uint truncates) {
    switch (op) {
        case BP_OP_add: return COMPUTED(a, +, b);
        case BP_OP_sub: return COMPUTED(a, -, b);
        case BP_OP_mul: return COMPUTED(a, *, b);
        case BP_OP_div: return quotient(a, b);
        case BP_OP_max: return LARGER(a, b);
        case BP_OP_min: return SMALLER(a, b);
        case BP_OP_mod: return left_of(a, b, truncates);
        case BP_OP_p_relu: return a < CAST(V, 0) ? COMPUTED(a, *, b) : a;
        case BP_OP_pow: return power(a, b);
    }
    return a;
}
