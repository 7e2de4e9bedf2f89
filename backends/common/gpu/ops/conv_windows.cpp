#include "common/gpu/ops/conv_windows.hpp"

#include <algorithm>

#include "common/gates.hpp"
#include "common/gpu/ops/tiles.hpp"

namespace backplane::gpu::ops::conv {

namespace {

constexpr size_t kMask = 3;            // operand of a convolution that take_factors() gives it: one number a row or frame
constexpr int64_t kTaps = 9;           // along frames
constexpr int64_t kFrames = 8;         // that an invocation makes, of two channels
constexpr int64_t kPixels = 8;         // likewise of a row of a map that is halved,
constexpr int64_t kOutputsOfOne = 16;  // of so many output channels

bool are(const backplane::ops::List& list, std::initializer_list<int64_t> values) {
    return list.size() == values.size() && std::equal(values.begin(), values.end(), list.begin());
}

bool is_of_halves(const Plan& plan, const Node& node) {
    if (node.op != BP_OP_conv || plan.math == BP_MATH_STRICT || plan[node.output].elements() == 0) return false;
    if (plan[node.inputs[0]].dtype != BP_F16 || plan[node.inputs[1]].dtype != BP_F16) return false;
    return std::ranges::none_of(node.post, [](const PostOp& p) { return p.kind == PostOp::add; });
}

// Rows of the map are whole sixteens, those of the result whole eights.
bool halves_map(const Plan& plan, const Node& node) {
    if (!is_of_halves(plan, node) || node.part != 0 || epilogue_function(node) != 0) return false;
    const Value& x = plan[node.inputs[0]];
    const Value& w = plan[node.inputs[1]];
    if (x.dim.size() != 4 || w.dim[1] != 1 || w.dim[2] != 3 || w.dim[3] != 3 || x.dim[3] % (2 * kPixels) != 0) return false;
    const auto how = node.as<backplane::ops::ConvAttributes>().filled(2);
    return are(how.strides, {2, 2}) && are(how.pads, {1, 1, 1, 1}) && are(how.dilations, {1, 1});
}

bool is_along_frames(const Plan& plan, const Node& node) {
    if (!is_of_halves(plan, node) || (node.part != kChannelsLast && node.part != kGatedFrames)) return false;
    if (epilogue_function(node) != 0 && epilogue_function(node) != BP_OP_silu) return false;
    const Value& w = plan[node.inputs[1]];
    const Value& y = plan[node.output];  // [images, frames, 1, channels]
    if (y.dim.size() != 4 || y.dim[2] != 1 || y.dim[3] % 2 != 0 || w.dim[2] != kTaps || w.dim[3] != 1) return false;
    const auto how = node.as<backplane::ops::ConvAttributes>().filled(2);
    return are(how.strides, {1, 1}) && are(how.pads, {kTaps / 2, 0, kTaps / 2, 0}) && are(how.dilations, {1, 1});
}

// The node that makes what is read once, shapes left out of account; null: none.
const Node* maker_of(const Plan& plan, const backend::Readers& readers, ValueId id) {
    for (;;) {
        const uint32_t maker = readers.only(id) != kNone ? readers.maker(id) : kNone;
        if (maker == kNone) return nullptr;
        if (plan.nodes[maker].op != BP_OP_reshape) return &plan.nodes[maker];
        id = plan.nodes[maker].inputs[0];
    }
}

// Of a Mul by one number for each frame or, of planes, each row (all of the axis `channels` have the same): which operand these are; 2: it is none.
size_t mask_of(const Plan& plan, const Node* node, size_t channels) {
    if (node == nullptr || node->op != BP_OP_mul || !node->post.empty()) return 2;
    const std::vector<int64_t>& all = plan[node->output].dim;
    for (size_t k = 0; k < 2; ++k) {
        const Value& mask = plan[node->inputs[k]];
        if (mask.dtype != BP_F16 || mask.dim.size() != all.size() || plan[node->inputs[1 - k]].dim != all) continue;
        bool fits = true;
        for (size_t d = 0; d < all.size(); ++d)
            fits = fits && mask.dim[d] == (d == channels || (channels == 1 && d == 3) ? 1 : all[d]);
        if (fits) return k;
    }
    return 2;
}

void give_mask(Node& node, const Node& product, size_t mask) {
    node.inputs.resize(kMask + 1, kNone);
    node.inputs[kMask] = product.inputs[mask];
    node.inputs[0] = product.inputs[1 - mask];
}

void take_of_frames(Plan& plan, const backend::Readers& readers, Node& node) {
    const std::vector<int64_t>& made = plan[node.output].dim;
    const Node* before = maker_of(plan, readers, node.inputs[0]);
    const std::vector<int64_t> frames = {made[0], made[1], made[3]};
    if (const size_t mask = mask_of(plan, before, 2); mask != 2 && plan[before->output].dim == frames) {
        give_mask(node, *before, mask);
        before = maker_of(plan, readers, node.inputs[0]);
    }
    if (before == nullptr || before->op != backend::kOpGated || before->part != 1) return;
    const std::vector<PostOp>& post = before->post;
    if (post.size() != 1 || post.front().op != BP_OP_sigmoid || plan[before->output].dim != frames) return;
    if (plan[before->inputs[0]].dim != std::vector<int64_t>{made[0], made[1], 2 * made[3]}) return;
    node.inputs[0] = before->inputs[0];
    node.part = kGatedFrames;
}

void add(Lowering& to, const Node& node, const char* kind, uint32_t kernel, uint64_t n, ConvDepthwiseParameters p,
         uint32_t takes) {
    const auto bias = std::ranges::find_if(node.post, [](const PostOp& post) { return post.kind == PostOp::bias; });
    const ValueId mask = node.input(kMask);
    p.elements = static_cast<uint32_t>(n);
    std::vector<uint32_t> words = words_of(p);
    append_epilogue(words, node);
    to.each("Conv " + std::string(kind) + " " + to[node.inputs[1]].text() + " -> " + to[node.output].text() +
                epilogue_text(node),
            kernel, n,
            {to.reads(node.inputs[0]), to.reads(node.inputs[1]),
             to.reads_or(bias != node.post.end() ? bias->value : kNone, node.inputs[0]), to.reads_or(mask, node.inputs[0]),
             to.writes(node.output)},
            words, {epilogue_kinds(node), epilogue_function(node), takes | (mask != kNone ? CONV_TAKES_MASK : 0U)});
}

}  // namespace

void take_factors(Plan& plan, const Abilities& can) {
    if (!can.few_kernels) return;
    const backend::Readers readers(plan);
    for (Node& node : plan.nodes) {
        if (halves_map(plan, node)) {
            const Node* before = maker_of(plan, readers, node.inputs[0]);
            if (const size_t mask = mask_of(plan, before, 1); mask != 2 && before->output == node.inputs[0])
                give_mask(node, *before, mask);
        } else if (is_along_frames(plan, node)) {
            take_of_frames(plan, readers, node);
        }
    }
}

bool lower_window(Lowering& to, const Node& node) {
    if (!to.can.few_kernels) return false;
    const Value& y = to[node.output];
    ConvDepthwiseParameters p{};
    if (halves_map(to.plan, node)) {
        const Value& x = to[node.inputs[0]];
        p.groups = word(x.dim[1]);
        p.outputs = word(y.dim[1] / x.dim[1]);
        p.height = word(x.dim[2]), p.width = word(x.dim[3]);
        p.out_height = word(y.dim[2]), p.out_width = word(y.dim[3]);
        const int64_t lines = y.dim[0] * x.dim[1] * up(p.outputs, kOutputsOfOne) * y.dim[2];
        add(to, node, "that halves", kKernel_conv_halving_f16, static_cast<uint64_t>(lines * (y.dim[3] / kPixels)), p, 0);
        return true;
    }
    if (!is_along_frames(to.plan, node)) return false;
    p.groups = word(y.dim[3]);
    p.height = p.out_height = word(y.dim[1]);
    const int64_t stretches = y.dim[0] * up(y.dim[1], kFrames);
    add(to, node, "along frames", kKernel_conv_frames_f16, static_cast<uint64_t>(stretches * (y.dim[3] / 2)), p,
        node.part == kGatedFrames ? CONV_TAKES_GATED : 0U);
    return true;
}

}  // namespace backplane::gpu::ops::conv
