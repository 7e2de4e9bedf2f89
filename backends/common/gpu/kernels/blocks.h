// clang-format off
// Block types as their format has them; include/backplane/ops/blocks.hpp says the same for the host. An element is scale * digit - least: the
// digit is a whole number from 0 on, less an offset of its type; scale and least are factors (f16) times numbers of few bits.
#define IS_LARGE(type) ((type) >= BP_Q2_K && (type) != BP_IQ4_NL)
// Digits name the numbers of a table.
#define NAMES_NUMBERS(type) ((type) == BP_IQ4_NL || (type) == BP_IQ4_XS)
FUNCTION uint block_elements(uint type) { return IS_LARGE(type) ? 256u : 32u; }
FUNCTION uint block_bytes(uint type) {
    switch (type) {
        case BP_Q8_0: return 34u;
        case BP_Q4_1: return 20u;
        case BP_Q5_0: return 22u;
        case BP_Q5_1: return 24u;
        case BP_Q2_K: return 84u;
        case BP_Q3_K: return 110u;
        case BP_Q4_K: return 144u;
        case BP_Q5_K: return 176u;
        case BP_Q6_K: return 210u;
        case BP_IQ4_XS: return 136u;
        case BP_Q8_K: return 292u;
    }
    return 18u;
}
// Has the type a least beside its scale?
FUNCTION bool has_least(uint type) {
    return type == BP_Q4_1 || type == BP_Q5_1 || type == BP_Q2_K || type == BP_Q4_K || type == BP_Q5_K;
}
// Where the f16 of the scale is, in bytes; that of the least is behind it. That of q8_k is an f32.
FUNCTION uint factor_at(uint type) { return type == BP_Q2_K ? 80u : type == BP_Q3_K ? 108u : type == BP_Q6_K ? 208u : 0u; }
// What a digit is less.
FUNCTION int offset_of(uint type) {
    switch (type) {
        case BP_Q8_0:
        case BP_Q8_K: return 128;
        case BP_Q4_0: return 8;
        case BP_Q5_0: return 16;
        case BP_Q3_K: return 4;
        case BP_Q6_K: return 32;
    }
    return 0;
}
// Numbers of iq4_nl and iq4_xs: distances from -127, a byte each.
FUNCTION int iq4_digit(uint i) {
    uint four = i < 4u ? 0x3E2C1700u : i < 8u ? 0x75695C4Eu : i < 12u ? 0xA5988C80u : 0xF0D8C4B4u;
    return CAST(int, four >> (i % 4u * 8u) & 255u) - 127;
}

// Parts of element k of a block whose bytes are OCTET(at), which the kernel defines.
#define BIT(at, place) (OCTET(at) >> (place) & 1u)
#define NIBBLE(at, k) (OCTET((at) + (k) % 16u) >> ((k) / 16u * 4u) & 15u)
#define PAIR(at, k) (OCTET((at) + (k) / 64u * 32u + (k) % 32u) >> ((k) / 32u % 2u * 4u) & 15u)
#define CRUMB(at, k) (OCTET((at) + (k) / 128u * 32u + (k) % 32u) >> ((k) / 32u % 4u * 2u) & 3u)
#define SIX_BITS(at, place, k) \
    ((k) < 128u ? OCTET((at) + (k) / 32u) & 63u : (OCTET(8u + (k) / 32u) >> (place) & 15u) | OCTET((at) + (k) / 32u - 4u) >> 6 << 4)
#define TAKE_DIGIT(digit, type, k)                                                                              \
    switch (type) {                                                                                             \
        case BP_Q8_0: digit = OCTET(2u + (k)) ^ 128u; break;                                                    \
        case BP_Q4_1: digit = NIBBLE(4u, k); break;                                                             \
        case BP_Q5_0: digit = NIBBLE(6u, k) | BIT(2u + (k) / 8u, (k) % 8u) << 4; break;                         \
        case BP_Q5_1: digit = NIBBLE(8u, k) | BIT(4u + (k) / 8u, (k) % 8u) << 4; break;                         \
        case BP_Q2_K: digit = CRUMB(16u, k); break;                                                             \
        case BP_Q3_K: digit = CRUMB(32u, k) | BIT((k) % 32u, (k) / 32u) << 2; break;                            \
        case BP_Q4_K: digit = PAIR(16u, k); break;                                                              \
        case BP_Q5_K: digit = PAIR(48u, k) | BIT(16u + (k) % 32u, (k) / 32u) << 4; break;                       \
        case BP_Q6_K: digit = (OCTET((k) / 128u * 64u + (k) % 64u) >> ((k) / 64u % 2u * 4u) & 15u) | CRUMB(128u, k) << 4; break; \
        case BP_IQ4_XS: digit = NIBBLE(8u + (k) / 32u * 16u, (k) % 32u); break;                                 \
        case BP_Q8_K: digit = OCTET(4u + (k)) ^ 128u; break;                                                    \
        default: digit = NIBBLE(2u, k); break;                                                                  \
    }
// What the factors of large blocks are multiplied by for element k.
#define TAKE_PARTS(scale, least, type, k)                                                                       \
    switch (type) {                                                                                             \
        case BP_Q2_K:                                                                                           \
            scale = CAST(int, OCTET((k) / 16u) & 15u);                                                          \
            least = CAST(int, OCTET((k) / 16u) >> 4);                                                           \
            break;                                                                                              \
        case BP_Q3_K:                                                                                           \
            scale = CAST(int, (OCTET(96u + (k) / 16u % 8u) >> ((k) / 128u * 4u) & 15u) |                        \
                                  (OCTET(104u + (k) / 16u % 4u) >> ((k) / 64u * 2u) & 3u) << 4) - 32;           \
            break;                                                                                              \
        case BP_Q4_K:                                                                                           \
        case BP_Q5_K:                                                                                           \
            scale = CAST(int, SIX_BITS(4u, 0u, k));                                                             \
            least = CAST(int, SIX_BITS(8u, 4u, k));                                                             \
            break;                                                                                              \
        case BP_Q6_K: scale = CAST(int, OCTET(192u + (k) / 16u) ^ 128u) - 128; break;                           \
        case BP_IQ4_XS:                                                                                         \
            scale = CAST(int, (OCTET(4u + (k) / 64u) >> ((k) / 32u % 2u * 4u) & 15u) |                          \
                                  (OCTET(2u + (k) / 128u) >> ((k) / 32u % 4u * 2u) & 3u) << 4) - 32;            \
            break;                                                                                              \
    }
