// clang-format off
// What convolutions on the matrix units of warpgroups do with their sums: 64 output channels (rows) by pixels, as warpgroup.h says that they are held.
// Maps lie as planes, a channel behind the other, or in bundles: the 64 channels of a block of a pixel in a row, pixel by pixel, block by block.
CONSTANT(5, BUNDLES, 0)  // of the result and of what is added to it: bundles
// A matrix of 8 x 8 halves, of which an invocation has two of a row, with rows and columns exchanged.
WARPGROUP_FUNCTION uint turned(uint v) {
    uint w;
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(w) : "r"(v));
    return w;
}
// What an invocation needs for the 64 channels of a tile: `channel`, of its group, is its own and that eight further on is, too.
struct Sums {
    const F16 *residual0, *residual1;
    F16 *y;
    uint kinds, channel, q;
    bool at_once, added_at_once, has_low, has_high;
    float bias_low, bias_high;
    U64 map, plane;  // where the invocation's first channel begins, or, in bundles, that of pixel 0; pixels of a map
};
WARPGROUP_FUNCTION Sums sums_of(uint kinds, const F16 *residual0, const F16 *residual1, F16 *y) {
    Sums s;
    s.residual0 = residual0, s.residual1 = residual1, s.y = y;
    s.kinds = kinds;  // looked up once: what is asked for in a loop is on its way all the time
    s.q = LOCAL_INDEX % 4u;
    bool first = has_kind(kinds, EPILOGUE_ADD_FIRST), second = has_kind(kinds, EPILOGUE_ADD_SECOND);
    s.at_once = ALIGNED_8(y, 0), s.added_at_once = (!first || ALIGNED_8(residual0, 0)) && (!second || ALIGNED_8(residual1, 0));
    return s;
}
// `first`: of the image and the channels before those of the group.
WARPGROUP_FUNCTION void find_channels(Sums &s, uint block, uint image, uint group, uint outputs, U64 plane, const F16 *bias) {
    uint warp = LOCAL_INDEX % 128u / 32u, row = LOCAL_INDEX % 32u / 4u;
    s.channel = block * 64u + warp * 16u + row;
    s.has_low = s.channel < outputs, s.has_high = s.channel + 8u < outputs;
    bool biased = has_kind(s.kinds, EPILOGUE_BIAS);
    s.bias_low = biased && s.has_low ? LOAD(bias, group * outputs + s.channel) : 0.0f;
    s.bias_high = biased && s.has_high ? LOAD(bias, group * outputs + s.channel + 8u) : 0.0f;
    s.plane = plane;
    s.map = BUNDLES != 0u ? ((U64)image * outputs + block * 64u) * plane + warp * 16u : ((U64)image * outputs + s.channel) * plane;
}
// The eight at `place`, of an operand that does not begin at a multiple of 16 bytes.
WARPGROUP_FUNCTION uint4 apart_eight_of(const F16 *from, U64 place) {
    const ushort *p = (const ushort *)from + place;
    return make_uint4(p[0] | (uint)p[1] << 16, p[2] | (uint)p[3] << 16, p[4] | (uint)p[5] << 16, p[6] | (uint)p[7] << 16);
}
WARPGROUP_FUNCTION uint turned_in_bundles(uint pair) {
    uint w = turned(pair);
    return BUNDLES != 0u ? w : pair;
}
// Finishes and stores sums of 4 rows of 64 pixels from `row`, `column` of the result on. `at(g, e)`: sum e of 32 pixels, half a row, the g-th: an invocation
// has pairs of four eights of two channels there, and stores an eight of each, of pixels or, in bundles, of channels. A step at a time is done to SOME of
// them from `begin` on, as registers allow: what is loaded is on its way together, and a branch is taken once.
template <uint SOME, typename At>
WARPGROUP_FUNCTION void finish_sums(const Sums &s, const At &at, const uint *steps, uint begin, uint row, uint column, uint height, uint width) {
    uint own = column + s.q * 8u + (BUNDLES != 0u ? LOCAL_INDEX % 32u / 4u : 0u), unit = BUNDLES != 0u ? 64u : 1u;
    bool low_there = BUNDLES != 0u || s.has_low, high_there = BUNDLES != 0u || s.has_high;
    U64 first = s.map + ((U64)row * width + own) * unit, apart = BUNDLES != 0u ? 8u : 8u * s.plane;
    auto inside = [&](uint g, uint r) { return row + g / 2u < height && own + g % 2u * 32u < width && (r == 0u ? low_there : high_there); };
    auto place = [&](uint g, uint r) { return first + (U64)(g / 2u * width + g % 2u * 32u) * unit + r * apart; };
    auto add = [&](uint g, uint r, uint4 w) {
        w = whole_eight(w.x, w.y, w.z, w.w, s.q);  // its own inverse
        uint pairs[4] = {w.x, w.y, w.z, w.w};
        UNROLL for (uint i = 0u; i < 4u; ++i) {
            uint pair = turned_in_bundles(pairs[i]);
            at(g, i * 4u + r * 2u) += single_of_bits(pair & 0xffffu);
            at(g, i * 4u + r * 2u + 1u) += single_of_bits(pair >> 16);
        }
    };
    UNROLL_STEPS for (uint step = 0u; step < EPILOGUE_STEPS; ++step) {
        uint kind = (s.kinds >> (4u * step) & 15u) - 1u;
        if (kind == EPILOGUE_NONE) break;
        float a = AS_FLOAT(steps[2u + 3u * step]), b = AS_FLOAT(steps[3u + 3u * step]);
#define EACH_SUM UNROLL for (uint g = begin; g < begin + SOME; ++g) UNROLL for (uint e = 0u; e < 16u; ++e)
        if (kind == EPILOGUE_BIAS) {
            EACH_SUM at(g, e) += e / 2u % 2u == 0u ? s.bias_low : s.bias_high;
        } else if (kind == EPILOGUE_RELU) {
            EACH_SUM at(g, e) = epilogue_step(EPILOGUE_RELU, at(g, e), a, b);
        } else if (kind == EPILOGUE_LEAKY) {
            EACH_SUM at(g, e) = epilogue_step(EPILOGUE_LEAKY, at(g, e), a, b);
        } else if (kind == EPILOGUE_CLIP) {
            EACH_SUM at(g, e) = epilogue_step(EPILOGUE_CLIP, at(g, e), a, b);
        } else if (kind == EPILOGUE_SCALE) {
            EACH_SUM at(g, e) = epilogue_step(EPILOGUE_SCALE, at(g, e), a, b);
        } else {
            const F16 *from = kind == EPILOGUE_ADD_FIRST ? s.residual0 : s.residual1;
            if (s.added_at_once) {
                constexpr uint ASKED = SOME < 4u ? SOME : 4u;
                UNROLL for (uint some = begin; some < begin + SOME; some += ASKED) {
                    uint4 w[2u * ASKED];
                    UNROLL for (uint i = 0u; i < 2u * ASKED; ++i) {
                        w[i] = make_uint4(0u, 0u, 0u, 0u);
                        if (inside(some + i / 2u, i % 2u)) w[i] = *(const uint4 *)(from + place(some + i / 2u, i % 2u));
                    }
                    UNROLL for (uint i = 0u; i < 2u * ASKED; ++i) add(some + i / 2u, i % 2u, w[i]);
                }
            } else {
                UNROLL for (uint i = 2u * begin; i < 2u * (begin + SOME); ++i) {
                    uint4 w = make_uint4(0u, 0u, 0u, 0u);
                    if (inside(i / 2u, i % 2u)) w = apart_eight_of(from, place(i / 2u, i % 2u));
                    add(i / 2u, i % 2u, w);
                }
            }
        }
    }
#undef EACH_SUM
    UNROLL for (uint i = 2u * begin; i < 2u * (begin + SOME); ++i) {
        uint g = i / 2u, r = i % 2u, words[4];
        UNROLL for (uint k = 0u; k < 4u; ++k) words[k] = turned_in_bundles(two_halves(at(g, 4u * k + 2u * r), at(g, 4u * k + 2u * r + 1u)));
        uint4 eight = whole_eight(words[0], words[1], words[2], words[3], s.q);
        ushort *to = (ushort *)s.y + place(g, r);
        if (!inside(g, r)) continue;
        if (s.at_once) *(uint4 *)to = eight;
        else {
            uint x8[4] = {eight.x, eight.y, eight.z, eight.w};
            UNROLL for (uint k = 0u; k < 8u; ++k) to[k] = (ushort)(x8[k / 2u] >> (k % 2u * 16u));
        }
    }
}
