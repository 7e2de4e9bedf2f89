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
// Of sums of 4 rows of 64 pixels from `row`, `column` of the result on. `at(g, e)`: sum e of 32 pixels, half a row, the g-th: an invocation has pairs of
// four eights of two channels there, and loads and stores an eight of each, of pixels or, in bundles, of channels.
struct Corner {
    uint row, own, height, width, unit;
    U64 first, apart;
    bool bundles, low_there, high_there;
    __device__ __forceinline__ bool inside(uint g, uint r) const { return row + g / 2u < height && own + g % 2u * 32u < width && (r == 0u ? low_there : high_there); }
    __device__ __forceinline__ U64 place(uint g, uint r) const { return first + (U64)(g / 2u * width + g % 2u * 32u) * unit + r * apart; }
    __device__ __forceinline__ uint exchanged(uint pair) const {
        uint w = turned(pair);
        return bundles ? w : pair;
    }
};
WARPGROUP_FUNCTION Corner corner_at(const Sums &s, bool bundles, uint row, uint column, uint height, uint width) {
    Corner c;
    c.row = row, c.height = height, c.width = width, c.bundles = bundles;
    c.own = column + s.q * 8u + (bundles ? LOCAL_INDEX % 32u / 4u : 0u), c.unit = bundles ? 64u : 1u;
    c.low_there = bundles || s.has_low, c.high_there = bundles || s.has_high;
    c.first = s.map + ((U64)row * width + c.own) * c.unit, c.apart = bundles ? 8u : 8u * s.plane;
    return c;
}
// A step at a time is done to SOME of them from `begin` on, as registers allow: a branch is taken once. `add(kind)` adds a map.
template <uint SOME, typename At, typename Add>
WARPGROUP_FUNCTION void do_steps(const Sums &s, const At &at, const uint *steps, uint begin, const Add &add) {
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
            add(kind);
        }
#undef EACH_SUM
    }
}
// Adds a map that lies as the result does; what is loaded of it is on its way together.
template <uint SOME, typename At>
WARPGROUP_FUNCTION void add_map(const Sums &s, Corner c, const At &at, uint begin, uint kind) {
    asm volatile("" : "+l"(c.first), "+r"(c.width), "+r"(c.own) :: "memory");  // places are made here, not kept through all steps
    const F16 *from = kind == EPILOGUE_ADD_FIRST ? s.residual0 : s.residual1;
    auto add = [&](uint g, uint r, uint4 w) {
        w = whole_eight(w.x, w.y, w.z, w.w, s.q);  // its own inverse
        uint pairs[4] = {w.x, w.y, w.z, w.w};
        UNROLL for (uint i = 0u; i < 4u; ++i) {
            uint pair = c.exchanged(pairs[i]);
            at(g, i * 4u + r * 2u) += single_of_bits(pair & 0xffffu);
            at(g, i * 4u + r * 2u + 1u) += single_of_bits(pair >> 16);
        }
    };
    uint4 w[2u * SOME];
    UNROLL for (uint i = 0u; i < 2u * SOME; ++i) w[i] = make_uint4(0u, 0u, 0u, 0u);
    if (s.added_at_once) {
        UNROLL for (uint i = 0u; i < 2u * SOME; ++i)
            if (c.inside(begin + i / 2u, i % 2u)) w[i] = *(const uint4 *)(from + c.place(begin + i / 2u, i % 2u));
    } else {
        UNROLL for (uint i = 0u; i < 2u * SOME; ++i)
            if (c.inside(begin + i / 2u, i % 2u)) w[i] = apart_eight_of(from, c.place(begin + i / 2u, i % 2u));
    }
    UNROLL for (uint i = 0u; i < 2u * SOME; ++i) add(begin + i / 2u, i % 2u, w[i]);
}
template <uint SOME, typename At>
WARPGROUP_FUNCTION void store_sums(const Sums &s, const Corner &c, const At &at, uint begin) {
    UNROLL for (uint i = 2u * begin; i < 2u * (begin + SOME); ++i) {
        uint g = i / 2u, r = i % 2u, words[4];
        UNROLL for (uint k = 0u; k < 4u; ++k) words[k] = c.exchanged(two_halves(at(g, 4u * k + 2u * r), at(g, 4u * k + 2u * r + 1u)));
        uint4 eight = whole_eight(words[0], words[1], words[2], words[3], s.q);
        ushort *to = (ushort *)s.y + c.place(g, r);
        if (!c.inside(g, r)) continue;
        if (s.at_once) *(uint4 *)to = eight;
        else {
            uint x8[4] = {eight.x, eight.y, eight.z, eight.w};
            UNROLL for (uint k = 0u; k < 8u; ++k) to[k] = (ushort)(x8[k / 2u] >> (k % 2u * 16u));
        }
    }
}
// All of it by loads and stores of the invocations.
template <uint SOME, typename At>
WARPGROUP_FUNCTION void finish_sums(const Sums &s, const At &at, const uint *steps, uint begin, uint row, uint column, uint height, uint width) {
    Corner c = corner_at(s, BUNDLES != 0u, row, column, height, width);
    do_steps<SOME>(s, at, steps, begin, [&](uint kind) { add_map<SOME>(s, c, at, begin, kind); });
    store_sums<SOME>(s, c, at, begin);
}
