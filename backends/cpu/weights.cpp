#include "weights.hpp"

#include <bit>
#include <cmath>
#include <cstring>

namespace backplane::cpu {

namespace {

float from_half(uint16_t h) {
    const uint32_t sign = static_cast<uint32_t>(h & 0x8000u) << 16;
    const uint32_t exponent = h >> 10 & 0x1f;
    const uint32_t mantissa = h & 0x3ffu;
    if (exponent == 0) {
        const float magnitude = std::ldexp(static_cast<float>(mantissa), -24);
        return sign != 0 ? -magnitude : magnitude;
    }
    const uint32_t wide = exponent == 31 ? 0xffu : exponent + 112;
    return std::bit_cast<float>(sign | wide << 23 | mantissa << 13);
}

uint16_t u16_at(const std::byte* p) {
    uint16_t v = 0;
    std::memcpy(&v, p, sizeof v);
    return v;
}

void decode_q8_0(const std::byte* plain, int64_t blocks, float* out) {
    for (int64_t b = 0; b < blocks; ++b, plain += 34) {
        const float scale = from_half(u16_at(plain));
        for (int i = 0; i < 32; ++i) *out++ = scale * static_cast<float>(static_cast<int8_t>(plain[2 + i]));
    }
}

// The low nibbles are the first 16 values, the high ones the last 16; both offset by 8.
void decode_q4_0(const std::byte* plain, int64_t blocks, float* out) {
    for (int64_t b = 0; b < blocks; ++b, plain += 18, out += 32) {
        const float scale = from_half(u16_at(plain));
        for (int i = 0; i < 16; ++i) {
            const int pair = static_cast<int>(plain[2 + i]);
            out[i] = scale * static_cast<float>((pair & 15) - 8);
            out[i + 16] = scale * static_cast<float>((pair >> 4) - 8);
        }
    }
}

}  // namespace

bool can_decode(uint32_t dtype) {
    return dtype == BP_F32 || dtype == BP_F16 || dtype == BP_BF16 || dtype == BP_Q8_0 || dtype == BP_Q4_0;
}

void decode(const std::byte* plain, uint32_t dtype, int64_t count, float* out) {
    switch (dtype) {
        case BP_F16:
            for (int64_t i = 0; i < count; ++i) out[i] = from_half(u16_at(plain + 2 * i));
            break;
        case BP_BF16:
            for (int64_t i = 0; i < count; ++i) out[i] = std::bit_cast<float>(uint32_t{u16_at(plain + 2 * i)} << 16);
            break;
        case BP_Q8_0: decode_q8_0(plain, count / 32, out); break;
        case BP_Q4_0: decode_q4_0(plain, count / 32, out); break;
        default:
            if (count > 0) std::memcpy(out, plain, static_cast<size_t>(count) * sizeof(float));
    }
}

std::vector<float> decode(const std::byte* plain, uint32_t dtype, int64_t count) {
    std::vector<float> out(static_cast<size_t>(count));
    decode(plain, dtype, count, out.data());
    return out;
}

int64_t padded_columns(int64_t columns, int64_t lanes) { return (columns + lanes - 1) / lanes * lanes; }

Epilogue epilogue_of(const std::vector<PostOp>& post, const Plan&, const Run& run, int64_t columns) {
    Epilogue out;
    for (const PostOp& p : post) {
        EpilogueOp& op = out.ops[out.count++];
        op = {p.kind, p.op, p.a, p.b, nullptr, 0};
        if (p.value != kNone) op.data = run.at<const float>(p.value);
        op.stride = columns;
    }
    return out;
}

std::vector<ValueId> epilogue_reads(const Node& node) {
    std::vector<ValueId> out;
    for (const PostOp& p : node.post)
        if (p.value != kNone) out.push_back(p.value);
    return out;
}

std::string epilogue_text(const Node& node) {
    std::string out;
    for (const PostOp& p : node.post) {
        out += ", ";
        out += p.kind == PostOp::bias    ? "bias"
               : p.kind == PostOp::add   ? "add"
               : p.kind == PostOp::scale ? "scale"
                                         : sdk::op_name(p.op);
    }
    return out;
}

}  // namespace backplane::cpu
