// clang-format off
// Blocks of TYPE as products read them (split_blocks.kernel, which SPLITS, makes them so, once): spans of 128 elements of a column, the last filled up, in
// planes. Four lanes share a span, which is four steps of 32 elements: lane l has elements 8 l to 8 l + 7 of each step, so that lanes beside
// each other read words beside each other, and each one scale a step.
//
//   LOW      LOW_BITS of each digit: a lane's of a span are LOW_BITS words. Of 8 bits: two words a step. Of 4: a word a step, element e at 4 e.
//            Of 2: a word for two steps, element e of step s at 8 (e / 2) + 4 (s % 2) + 2 (e % 2)
//   HIGH     the rest: HIGH_BITS words. Of one bit: element e of step s at 8 (e / 2) + 2 s + e % 2; of two: as LOW_BITS of 2
//   PARTS    of large blocks, two words a span: a byte a step. Scales and leasts (q4_k, q5_k); scales + 128 of lanes 0 and 1, of 2 and 3
//            (q3_k, q6_k); scale and least as four bits each, of lanes 0 and 1, of 2 and 3 (q2_k). One word: scales + 128 (iq4_xs); the factor,
//            an f32 (q8_k)
//   FACTORS  f16: scales of the four steps, and leasts of the four; of large blocks scale and least for both of their spans; q8_k has none
#define SPAN 128u
#define SPANS P.scales
#define LOW_BITS (TYPE == BP_Q8_0 || TYPE == BP_Q8_K ? 8u : TYPE == BP_Q2_K || TYPE == BP_Q3_K ? 2u : 4u)
#define HIGH_BITS (TYPE == BP_Q6_K ? 2u : TYPE == BP_Q3_K || TYPE == BP_Q5_0 || TYPE == BP_Q5_1 || TYPE == BP_Q5_K ? 1u : 0u)
#define HAS_LEAST has_least(TYPE)
#define LARGE IS_LARGE(TYPE)
#define PART_WORDS (TYPE == BP_IQ4_XS || TYPE == BP_Q8_K ? 1u : 2u)
// Where planes begin in words, of SPANS in all; that of factors in halves.
#define HIGH_AT (SPANS * 4u * LOW_BITS)
#define PARTS_AT (SPANS * 4u * (LOW_BITS + HIGH_BITS))
#define FACTORS_AT (2u * (PARTS_AT + (LARGE ? PART_WORDS * SPANS : 0u)))
// The word of LOW with the first four of the elements of a lane (`at`: lanes before it, four a span) of a step; the others' is the same, 16 bits further,
// or the next where they have 8.
#define LOW_WORD_AT(at, s)                                                                                             \
    (LOW_BITS == 8u ? ((at) / 4u * 8u + (s) / 2u * 4u + (at) % 4u) * 4u + (s) % 2u * 2u :                              \
     LOW_BITS == 4u ? (at) * 4u + (s) : (at) * 2u + (s) / 2u)
#define HIGH_WORD_AT(at, s) (HIGH_AT + (at) * HIGH_BITS + (HIGH_BITS == 2u ? (s) / 2u : 0u))

#if !defined(SPLITS)
// A whole number of few bits, `place` bits to the left, as a float, by its bits: conversions run at a quarter of the speed. `unit`: 2^23, which compilers do
// not know (FILL_TABLE), or they make two instructions of two constants.
FUNCTION float small(uint unit, uint bits, uint place) {
    return AS_FLOAT((unit - (place << 23)) | bits) - (AS_FLOAT(0x4b000000u - (place << 23)) + CAST(float, offset_of(TYPE)));
}
FUNCTION float4 four_bytes(uint unit, uint w) {
    uint high = w >> 16;
    return FLOAT4(small(unit, w & 0xffu, 0u), small(unit, w & 0xff00u, 8u), small(unit, high & 0xffu, 0u), small(unit, high & 0xff00u, 8u));
}
FUNCTION float4 four_nibbles(uint unit, uint w) {
    return FLOAT4(small(unit, w & 0xfu, 0u), small(unit, w & 0xf0u, 4u), small(unit, w & 0xf00u, 8u), small(unit, w & 0xf000u, 12u));
}
FUNCTION float4 two_of_each(uint unit, uint even, uint odd) {
    return FLOAT4(small(unit, even & 0xffu, 0u), small(unit, odd & 0xffu, 0u), small(unit, even & 0xff00u, 8u), small(unit, odd & 0xff00u, 8u));
}
// w, its bits `from` on where those from `to` on were.
FUNCTION uint moved(uint w, uint from, uint to) { return from < to ? w << (to - from) : w >> (from - to); }
// Digits 0, 2, 4 and 6 of a lane's eight of a step, or those behind them, a byte each.
FUNCTION uint every_other(uint w, uint high, uint s, uint odd) {
    uint at = s % 2u * 4u + odd * 2u;
    uint digits = LOW_BITS == 2u ? w >> at & 0x03030303u : w >> (odd * 4u) & 0x0f0f0f0fu;
    if (HIGH_BITS == 1u) digits |= moved(high, s * 2u + odd, LOW_BITS) & 0x01010101u << LOW_BITS;
    if (HIGH_BITS == 2u) digits |= moved(high, at, LOW_BITS) & 0x03030303u << LOW_BITS;
    return digits;
}
FUNCTION float byte_as_float(uint bits) { return AS_FLOAT(0x4b000000u | bits) - 8388608.0f; }
FUNCTION float4 bytes_as_floats(uint w) {
    return FLOAT4(byte_as_float(w & 0xffu), byte_as_float(w >> 8 & 0xffu), byte_as_float(w >> 16 & 0xffu), byte_as_float(w >> 24));
}

// Operands b (words) and factors (f16) are the planes. Where digits name numbers, those are in shared memory: elsewhere a look-up that
// goes its own way in each invocation is slow.
#define TABLE SHARED(float, numbers, 16)
#define FILL_TABLE                                                                                          \
    uint unit = 0x4b000000u | P.depth >> 31;                                                                \
    if (NAMES_NUMBERS(TYPE)) {                                                                              \
        if (LOCAL_INDEX < 16u) numbers[LOCAL_INDEX] = CAST(float, iq4_digit(LOCAL_INDEX));                  \
        BARRIER;                                                                                            \
    }
#define NAMED_BY(w) FLOAT4(numbers[(w) & 15u], numbers[(w) >> 4 & 15u], numbers[(w) >> 8 & 15u], numbers[(w) >> 12 & 15u])
// Eight digits of a step: `next` is the word behind `low` where they have 8 bits.
#define TAKE_EIGHT(first, second, low, next, high, s)                                                       \
    float4 first;                                                                                           \
    float4 second;                                                                                          \
    if (NAMES_NUMBERS(TYPE)) {                                                                              \
        first = NAMED_BY(low);                                                                              \
        second = NAMED_BY((low) >> 16);                                                                     \
    } else if (LOW_BITS == 8u) {                                                                            \
        first = four_bytes(unit, low);                                                                      \
        second = four_bytes(unit, next);                                                                    \
    } else if (LOW_BITS == 4u && HIGH_BITS == 0u) {                                                         \
        first = four_nibbles(unit, low);                                                                    \
        second = four_nibbles(unit, (low) >> 16);                                                           \
    } else {                                                                                                \
        uint even_ = every_other(low, high, s, 0u);                                                         \
        uint odd_ = every_other(low, high, s, 1u);                                                          \
        first = two_of_each(unit, even_, odd_);                                                             \
        second = two_of_each(unit, even_ >> 16, odd_ >> 16);                                                \
    }
// Scales and leasts of a lane's four steps: part of them times `factor` and `below`.
#define TAKE_FACTORS(scale, least, span, lane)                                                              \
    float4 scale = ALL_4(0.0f);                                                                             \
    float4 least = ALL_4(0.0f);                                                                             \
    if (LARGE) {                                                                                            \
        uint at_ = FACTORS_AT + (span) / 2u * (HAS_LEAST ? 2u : 1u);                                        \
        float factor_ = TYPE == BP_Q8_K ? 1.0f : LOAD_HALF(factors, at_);                                   \
        float below_ = HAS_LEAST ? LOAD_HALF(factors, at_ + 1u) : 0.0f;                                     \
        bool shared_ = TYPE == BP_Q4_K || TYPE == BP_Q5_K;                                                  \
        uint part_ = RAW(b, PARTS_AT + (span) * PART_WORDS + (shared_ || PART_WORDS == 1u ? 0u : (lane) / 2u)); \
        if (TYPE == BP_Q8_K) {                                                                              \
            scale = ALL_4(AS_FLOAT(part_));                                                                 \
        } else if (TYPE == BP_Q2_K) {                                                                              \
            scale = bytes_as_floats(part_ & 0x0f0f0f0fu) * factor_;                                         \
            least = bytes_as_floats(part_ >> 4 & 0x0f0f0f0fu) * below_;                                     \
        } else if (shared_) {                                                                               \
            scale = bytes_as_floats(part_) * factor_;                                                       \
            least = bytes_as_floats(RAW(b, PARTS_AT + (span) * 2u + 1u)) * below_;                          \
        } else {                                                                                            \
            scale = (bytes_as_floats(part_) - ALL_4(128.0f)) * factor_;                                     \
        }                                                                                                   \
    } else {                                                                                                \
        if (HAS_LEAST) {                                                                                    \
            LOAD_HALVES(scale, least, factors, FACTORS_AT + (span) * 8u)                                    \
            least = ALL_4(0.0f) - least;                                                                    \
        } else {                                                                                            \
            LOAD_FOUR_HALVES(scale, factors, FACTORS_AT + (span) * 4u)                                      \
        }                                                                                                   \
    }
// Four elements of a column whose spans begin at first_span, from element k on.
#define TAKE_WEIGHTS(v, first_span, k)                                                                      \
    {                                                                                                       \
        uint span_ = (first_span) + (k) / SPAN;                                                             \
        uint s_ = (k) / 32u % 4u;                                                                           \
        uint lane_ = (k) / 8u % 4u;                                                                         \
        uint second_ = (k) / 4u % 2u;                                                                       \
        uint low_bits_ = RAW(b, LOW_WORD_AT(span_ * 4u + lane_, s_) + (LOW_BITS == 8u ? second_ : 0u));     \
        uint high_bits_ = HIGH_BITS != 0u ? RAW(b, HIGH_WORD_AT(span_ * 4u + lane_, s_)) : 0u;              \
        TAKE_FACTORS(scale_, least_, span_, lane_)                                                          \
        if (LOW_BITS != 8u) low_bits_ = low_bits_ >> (16u * second_);                                       \
        TAKE_EIGHT(digits_, unused_, low_bits_, 0u, high_bits_ >> (16u * second_), s_)                      \
        v = digits_ * PART(scale_, s_) - ALL_4(PART(least_, s_));                                           \
    }
#endif
