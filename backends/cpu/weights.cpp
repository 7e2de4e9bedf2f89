#include "weights.hpp"

#include <bit>
#include <cstring>

#include "backplane/ops/blocks.hpp"

namespace backplane::cpu {

namespace {

uint16_t u16_at(const std::byte* p) {
    uint16_t v = 0;
    std::memcpy(&v, p, sizeof v);
    return v;
}

}  // namespace

bool can_decode(uint32_t dtype) { return dtype == BP_F32 || dtype == BP_F16 || dtype == BP_BF16 || is_block(dtype); }

Verdict check_filters(const Plan& plan, const Node& node) {
    const Value& w = plan[node.inputs[1]];
    if (!can_decode(w.dtype)) return {BP_WHY_DTYPE, node.text() + " is not done for weights " + w.text()};
    return {};
}

void decode(const std::byte* plain, uint32_t dtype, int64_t count, float* out) {
    switch (dtype) {
        case BP_F16:
            for (int64_t i = 0; i < count; ++i) out[i] = blocks::from_half(u16_at(plain + 2 * i));
            break;
        case BP_BF16:
            for (int64_t i = 0; i < count; ++i) out[i] = std::bit_cast<float>(uint32_t{u16_at(plain + 2 * i)} << 16);
            break;
        case BP_F32:
            if (count > 0) std::memcpy(out, plain, static_cast<size_t>(count) * sizeof(float));
            break;
        default: {
            const sdk::DTypeInfo type = sdk::dtype_info(dtype);
            blocks::decode(dtype, plain, count / type.block, type.bytes, out);
        }
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
