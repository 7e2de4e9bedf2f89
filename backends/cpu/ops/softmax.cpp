// Softmax and LogSoftmax along any axis, in either layout.
#include "loop_nest.hpp"
#include "ops/strided_copy.hpp"
#include "ops/table.hpp"

namespace backplane::cpu::ops::softmax {

namespace {

// Columns one task takes: enough for whole cache lines and all lanes.
constexpr int64_t kColumns = 64;

void lower(Lowering& to, const Node& node) {
    const ValueId in = node.inputs[0];
    const ValueId out = node.output;
    if (to[out].elements() == 0) return;
    const auto axis = static_cast<size_t>(node.as<backplane::ops::SoftmaxAttributes>().axis);
    std::vector<int64_t> others = to[in].dim;
    std::vector<int64_t> strides = strides_of(to[in]);
    const int64_t n = others[axis];
    const int64_t stride = strides[axis];
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(axis));
    strides.erase(strides.begin() + static_cast<std::ptrdiff_t>(axis));
    auto nest = simplify<1>(others, {strides});
    const bool rows = stride == 1 || n == 1 || nest.stride[0].back() != 1;
    if (rows) {  // each position of the other axes is a row of its own
        nest.size.push_back(1);
        nest.stride[0].push_back(1);
    }
    const int64_t inner = nest.inner();
    const int64_t strips = (inner + kColumns - 1) / kColumns;
    const int64_t grain = std::max<int64_t>(1, 4096 / (n * std::min(inner, kColumns)));
    const bool logarithm = node.op == BP_OP_log_softmax;
    const auto of_row = logarithm ? to.kernels.normalize.log_softmax : to.kernels.normalize.softmax;
    const auto of_columns = logarithm ? to.kernels.normalize.log_softmax_columns : to.kernels.normalize.softmax_columns;
    to.step(step_label(to, node), {in}, {out}, [=](const Run& run) {
        const float* from = run.at<float>(in);
        float* into = run.at<float>(out);
        run.ranges(nest.rows() * strips, grain, [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) {
                const int64_t first = i % strips * kColumns;
                const int64_t at = nest.row(i / strips)[0] + first;
                if (rows && stride == 1) {
                    of_row(from + at, into + at, n);
                } else {
                    of_columns(from + at, into + at, n, stride, std::min(kColumns, inner - first));
                }
            }
        });
    });
}

constexpr OpLowering table[] = {{BP_OP_softmax, Types::computes, Wants::either, 0, nullptr, lower},
                                {BP_OP_log_softmax, Types::computes, Wants::either, 0, nullptr, lower}};

}  // namespace

const OpFamily ops_softmax = {table, std::size(table)};

}  // namespace backplane::cpu::ops::softmax
