#include "common/fusion.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace backplane::backend {

namespace {

// Finite values only.
std::optional<float> number_of_half(uint16_t bits) {
    const int power = bits >> 10 & 31;
    if (power == 31) return std::nullopt;
    const int digits = (bits & 1023) + (power != 0 ? 1024 : 0);
    const float number = std::ldexp(static_cast<float>(digits), std::max(power, 1) - 25);
    return bits >> 15 != 0 ? -number : number;
}

}  // namespace

void drop_unread(PlanNodes& plan) {
    std::vector<bool> wanted;
    const auto want = [&](ValueId id) {
        if (id == kNone) return;
        if (id >= wanted.size()) wanted.resize(std::max<size_t>(id + size_t{1}, wanted.size() * 2));
        wanted[id] = true;
    };
    for (const ValueId id : plan.outputs) want(id);
    for (size_t i = plan.nodes.size(); i-- > 0;) {
        const FusedNode& node = plan.nodes[i];
        if (node.output >= wanted.size() || !wanted[node.output]) continue;
        for (const ValueId id : node.inputs) want(id);
        for (const PostOp& post : node.post) want(post.value);
    }
    // A value has one node that makes it: by now those are wanted whose nodes are.
    std::erase_if(plan.nodes, [&](const FusedNode& node) { return node.output >= wanted.size() || !wanted[node.output]; });
}

void take_bias(PlanNodes& plan) {
    for (FusedNode& node : plan.nodes) {
        if (!is_convolution(node.op) || node.input(2) == kNone) continue;
        node.post.push_back({PostOp::bias, 0, 0, 0, node.inputs[2]});
        node.inputs[2] = kNone;
    }
}

PostOp function_post(const Node& node) {
    const auto post = [&](double first, double second = 0) {
        return PostOp{PostOp::unary, node.op, static_cast<float>(first), static_cast<float>(second), kNone};
    };
    switch (node.op) {
        case BP_OP_leaky_relu: return post(node.as<backplane::ops::LeakyReluAttributes>().alpha);
        case BP_OP_gelu: return post(node.as<backplane::ops::GeluAttributes>().approximate ? 1 : 0);
        case BP_OP_elu: return post(node.as<backplane::ops::EluAttributes>().alpha);
        case BP_OP_selu: {
            const auto selu = node.as<backplane::ops::SeluAttributes>();
            return post(selu.alpha, selu.gamma);
        }
        case BP_OP_hard_sigmoid: {
            const auto line = node.as<backplane::ops::HardSigmoidAttributes>();
            return post(line.alpha, line.beta);
        }
        case BP_OP_clip: {
            const auto bounds = node.as<backplane::ops::ClipAttributes>();
            return post(bounds.least, bounds.most);
        }
        default: return post(0);
    }
}

std::optional<PostOp> scale_post(const Value& factor) {
    if (factor.role != BP_ROLE_CONSTANT || factor.elements() != 1) return std::nullopt;
    std::optional<float> number;
    if (factor.dtype == BP_F32) std::memcpy(&number.emplace(), factor.constant.data(), sizeof(float));
    if (factor.dtype == BP_F16) {
        uint16_t bits = 0;
        std::memcpy(&bits, factor.constant.data(), sizeof bits);
        number = number_of_half(bits);
    }
    if (!number) return std::nullopt;
    return PostOp{PostOp::scale, 0, *number, 0, kNone};
}

bool is_row(const Value& value, int64_t columns) {
    return !value.dim.empty() && value.dim.back() == columns && value.elements() == columns;
}

ValueId joined_with(const Node& node, ValueId known) {
    if ((node.op != BP_OP_add && node.op != BP_OP_mul) || node.inputs.size() != 2 || node.inputs[0] == node.inputs[1])
        return kNone;
    return node.inputs[0] == known ? node.inputs[1] : node.inputs[0];
}

}  // namespace backplane::backend
