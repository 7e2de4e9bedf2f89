// Unary and binary element-wise ops, numpy broadcast, any mix of layouts.
#include "common/elementwise.hpp"
#include "common/fusion.hpp"
#include "ops/integers.hpp"
#include "ops/strided_copy.hpp"
#include "ops/table.hpp"
#include "ops/walk.hpp"

namespace backplane::cpu::ops::elementwise {

namespace {

void lower_unary(Lowering& to, const Node& node) {
    const ValueId in = node.inputs[0];
    const ValueId out = node.output;
    if (to[out].elements() == 0) return;
    const auto& unary = to.kernels.elementwise.unary;
    const UnaryKernel kernel = node.op < std::size(unary) ? unary[node.op] : nullptr;
    const backend::PostOp function = backend::function_post(node);
    auto nest = simplify<2>(to[out].dim, {strides_of(to[out]), strides_of(to[in])});
    if (nest.stride[1].back() != 1 || nest.stride[0].back() != 1)
        throw sdk::Failure(BP_INTERNAL, node.text() + ": operand and result have different layouts");
    const int64_t n = to[out].elements();
    if (const IntegerUnary integers = find_integer_unary(node.op, to[in].dtype); integers != nullptr) {
        const auto bounds =
            node.op == BP_OP_clip ? node.as<backplane::ops::ClipAttributes>() : backplane::ops::ClipAttributes{};
        Step& whole = to.step(step_label(to, node), {in}, {out}, [=](const Run& run) {
            integers(run.at<std::byte>(in), run.at<std::byte>(out), n, bounds.least, bounds.most);
        });
        whole.alone = true;
        return;
    }
    if (kernel == nullptr) throw sdk::Failure(BP_INTERNAL, node.text() + ": this build has no kernel for it");
    Step& added = to.step(step_label(to, node), {in}, {out}, [=](const Run& run) {
        const float* from = run.at<float>(in);
        float* into = run.at<float>(out);
        run.ranges(n, kGrainElements, [&](int64_t begin, int64_t end) {
            kernel(from + begin, into + begin, end - begin, function.a, function.b);
        });
    });
    added.alone = true;
}

void lower_binary(Lowering& to, const Node& node) {
    const ValueId x = node.inputs[0];
    const ValueId y = node.inputs[1];
    const ValueId out = node.output;
    if (to[out].elements() == 0) return;
    static_assert(std::extent_v<decltype(ElementwiseKernels::binary)> > BP_OP_min && BP_OP_min > BP_OP_max);
    const BinaryKernel kernel = to.kernels.elementwise.binary[node.op];
    auto nest = nest_of(to, out, x, y);
    // The kernel takes steps of 0 and 1 only: anything else (a transposed operand) goes element by element.
    if (nest.stride[1].back() > 1 || nest.stride[2].back() > 1) {
        nest.size.push_back(1);
        for (auto& s : nest.stride) s.push_back(1);
    }
    const int64_t x_step = nest.stride[1].back();
    const int64_t y_step = nest.stride[2].back();
    if (const IntegerBinary integers = find_integer_binary(node, to[out].dtype); integers != nullptr) {
        const int64_t size = element_bytes(to[out]);
        Step& whole = to.step(step_label(to, node), {x, y}, {out}, [=](const Run& run) {
            for_each_stretch(run, nest, [&](const auto& at, int64_t n) {
                integers(run.at<std::byte>(x) + at[1] * size, x_step, run.at<std::byte>(y) + at[2] * size, y_step,
                         run.at<std::byte>(out) + at[0] * size, n);
            });
        });
        whole.alone = true;
        return;
    }
    Step& added = to.step(step_label(to, node), {x, y}, {out}, [=](const Run& run) {
        const float* xs = run.at<float>(x);
        const float* ys = run.at<float>(y);
        float* into = run.at<float>(out);
        for_each_stretch(
            run, nest, [&](const auto& at, int64_t n) { kernel(xs + at[1], x_step, ys + at[2], y_step, into + at[0], n); });
    });
    added.alone = true;
}

constexpr OpLowering unary(uint32_t op) { return {op, Types::numbers, Wants::either, 0, nullptr, lower_unary}; }
constexpr OpLowering binary(uint32_t op) { return {op, Types::numbers, Wants::either, 0, nullptr, lower_binary}; }

constexpr auto table = backend::elementwise_rows<OpLowering>(unary, binary);

}  // namespace

const OpFamily ops_elementwise = {table.data(), table.size()};

}  // namespace backplane::cpu::ops::elementwise
