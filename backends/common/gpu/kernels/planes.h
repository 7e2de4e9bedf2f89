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
// The word of LOW with the first four of a lane's elements of a step; the others' is the same, 16 bits further, or the next where they have 8.
#define LOW_WORD_AT(span, lane, s)                                                       \
    (LOW_BITS == 8u ? (((span) * 2u + (s) / 2u) * 4u + (lane)) * 4u + (s) % 2u * 2u : \
     LOW_BITS == 4u ? ((span) * 4u + (lane)) * 4u + (s) : ((span) * 4u + (lane)) * 2u + (s) / 2u)
#define HIGH_WORD_AT(span, lane, s) (HIGH_AT + ((span) * 4u + (lane)) * HIGH_BITS + (HIGH_BITS == 2u ? (s) / 2u : 0u))

#if !defined(SPLITS)
// A whole number of few bits, `place` bits to the left, as a float, by its bits: conversions run at a quarter of the speed.
FUNCTION float small(uint bits, uint place) {
    uint one = 0x4b000000u - (place << 23);
    return AS_FLOAT(one | bits) - (AS_FLOAT(one) + CAST(float, offset_of(TYPE)));
}
FUNCTION float4 four_bytes(uint w) { return FLOAT4(small(w & 0xffu, 0u), small(w & 0xff00u, 8u), small(w >> 16 & 0xffu, 0u), small(w >> 16 & 0xff00u, 8u)); }
FUNCTION float4 four_nibbles(uint w) { return FLOAT4(small(w & 0xfu, 0u), small(w & 0xf0u, 4u), small(w & 0xf00u, 8u), small(w & 0xf000u, 12u)); }
// Four digits, of which w and high have the bits in their lower halves.
FUNCTION float4 four_digits(uint w, uint high, uint s) {
    if (LOW_BITS == 8u) return four_bytes(w);
    if (LOW_BITS == 4u && HIGH_BITS == 0u) return four_nibbles(w);
    uint at = LOW_BITS == 2u ? s % 2u * 4u : 0u;
    uint ones = LOW_BITS == 2u ? 0x0303u : 0x0f0fu;
    uint even = w >> at & ones;
    uint odd = w >> (at + LOW_BITS) & ones;
    if (HIGH_BITS == 1u) {
        even |= (high >> (s * 2u) & 0x0101u) << LOW_BITS;
        odd |= (high >> (s * 2u + 1u) & 0x0101u) << LOW_BITS;
    }
    if (HIGH_BITS == 2u) {
        even |= (high >> (s % 2u * 4u) & 0x0303u) << LOW_BITS;
        odd |= (high >> (s % 2u * 4u + 2u) & 0x0303u) << LOW_BITS;
    }
    return FLOAT4(small(even & 0xffu, 0u), small(odd & 0xffu, 0u), small(even & 0xff00u, 8u), small(odd & 0xff00u, 8u));
}
FUNCTION float byte_as_float(uint bits) { return AS_FLOAT(0x4b000000u | bits) - 8388608.0f; }
FUNCTION float4 bytes_as_floats(uint w) {
    return FLOAT4(byte_as_float(w & 0xffu), byte_as_float(w >> 8 & 0xffu), byte_as_float(w >> 16 & 0xffu), byte_as_float(w >> 24));
}

// Operands b (words) and factors (f16) are the planes. Where digits name numbers, those are in shared memory: elsewhere a look-up that
// goes its own way in each invocation is slow.
#define TABLE SHARED(float, numbers, 16)
#define FILL_TABLE                                                                                          \
    if (LOCAL_INDEX < 16u) numbers[LOCAL_INDEX] = CAST(float, iq4_digit(LOCAL_INDEX));                      \
    BARRIER;
#define TAKE_FOUR(v, w, high, s)                                                                            \
    float4 v;                                                                                               \
    if (NAMES_NUMBERS(TYPE)) {                                                                              \
        v = FLOAT4(numbers[(w) & 15u], numbers[(w) >> 4 & 15u], numbers[(w) >> 8 & 15u], numbers[(w) >> 12 & 15u]); \
    } else {                                                                                                \
        v = four_digits(w, high, s);                                                                        \
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
        float4 low_;                                                                                        \
        float4 high_;                                                                                       \
        LOAD_HALVES(low_, high_, factors, FACTORS_AT + (HAS_LEAST ? (span) * 8u : (span) / 2u * 8u))        \
        scale = HAS_LEAST || (span) % 2u == 0u ? low_ : high_;                                              \
        if (HAS_LEAST) least = ALL_4(0.0f) - high_;                                                         \
    }
// Four elements of a column whose spans begin at first_span, from element k on.
#define TAKE_WEIGHTS(v, first_span, k)                                                                      \
    {                                                                                                       \
        uint span_ = (first_span) + (k) / SPAN;                                                             \
        uint s_ = (k) / 32u % 4u;                                                                           \
        uint lane_ = (k) / 8u % 4u;                                                                         \
        uint second_ = (k) / 4u % 2u;                                                                       \
        uint low_bits_ = RAW(b, LOW_WORD_AT(span_, lane_, s_) + (LOW_BITS == 8u ? second_ : 0u));           \
        uint high_bits_ = HIGH_BITS != 0u ? RAW(b, HIGH_WORD_AT(span_, lane_, s_)) : 0u;                    \
        TAKE_FACTORS(scale_, least_, span_, lane_)                                                          \
        TAKE_FOUR(digits_, LOW_BITS == 8u ? low_bits_ : low_bits_ >> (16u * second_), high_bits_ >> (16u * second_), s_) \
        v = digits_ * PART(scale_, s_) - ALL_4(PART(least_, s_));                                           \
    }
#endif
