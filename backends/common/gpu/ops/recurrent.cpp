// LSTM and GRU: what expand_recurrent leaves of them, one dispatch a step, or two where the reset gate comes before the product.
#include "common/recurrent.hpp"
#include "common/gpu/ops/table.hpp"

namespace backplane::gpu::ops::recurrent {

namespace {

using backend::Recurrence;
using backend::RecurrentRows;
namespace rules = backplane::ops;

// Rows of the batch that share a visit to the weights.
constexpr uint32_t kRows = 4;

void begin(Lowering& to, const Node& node, const Recurrence& r) {
    const RecurrentRows rows(r.steps);
    const ValueId h = node.inputs[rules::kRecurrentH];
    const ValueId c = node.inputs[rules::kRecurrentC];
    const int64_t elements = r.directions * r.batch * r.hidden;
    const ValueId other = node.inputs[rules::kRecurrentX];
    to.each(step_label(to, node) + ", state", kKernel_recurrent_begin, static_cast<uint64_t>(elements),
            {to.reads_or(h, other, 4), to.reads_or(c, other, 4), to.writes(node.output)},
            RecurrentBeginParameters{.before = word(rows.before(0)),
                                     .cells = r.cells ? 1U : 0U,
                                     .cell = word(rows.cell),
                                     .given = (h != kNone ? 1U : 0U) | (c != kNone ? 2U : 0U)});
}

// Of all steps; each has its own step, before and after.
RecurrentParameters parameters_of(const Lowering& to, const Node& node, const Recurrence& r, uint32_t rows_of_group) {
    const RecurrentRows rows(r.steps);
    RecurrentParameters p{};
    p.hidden = word(r.hidden);
    p.batch = word(r.batch);
    p.blocks = word(up(r.batch, rows_of_group));
    p.directions = word(r.directions);
    p.steps = word(r.steps);
    p.reverse = r.reverse ? 1 : 0;
    p.biased = node.inputs[rules::kRecurrentB] != kNone ? 1 : 0;
    p.peeps = node.inputs[rules::kRecurrentP] != kNone ? 1 : 0;
    p.length_words = words_of_index(to, node.inputs[rules::kRecurrentLengths]);
    p.input_forget = r.input_forget ? 1 : 0;
    p.clip = r.clip;
    p.cell = word(rows.cell);
    p.reached = word(rows.reached);
    p.update = word(rows.update);
    for (int64_t d = 0; d < r.directions; ++d)
        for (size_t k = 0; k < (r.cells ? 3U : 2U); ++k) p.functions[static_cast<size_t>(d) * 3 + k] = r.function(d, k);
    return p;
}

void lower(Lowering& to, const Node& node) {
    const Recurrence r = backend::recurrence_of(node, to[node.output]);
    const ValueId x = node.inputs[rules::kRecurrentX];
    const ValueId weights = node.inputs[rules::kRecurrentR];
    begin(to, node, r);
    const uint32_t rows_of_group = r.batch > 1 ? kRows : 1;
    RecurrentParameters p = parameters_of(to, node, r, rows_of_group);
    const RecurrentRows rows(r.steps);
    const std::vector<uint32_t> kinds = r.cells          ? std::vector{RECURRENT_CELLS}
                                        : r.reset_behind ? std::vector{RECURRENT_BEHIND}
                                                         : std::vector{RECURRENT_GATES, RECURRENT_CONTENT};
    const std::vector<Operand> operands{to.reads(x),
                                        to.reads(weights),
                                        to.reads_or(node.inputs[rules::kRecurrentB], x, 4),
                                        to.reads_or(node.inputs[rules::kRecurrentP], x, 4),
                                        to.reads_or(node.inputs[rules::kRecurrentLengths], x, 4),
                                        to.reads(node.output),
                                        to.writes(node.output)};
    const uint32_t local = r.hidden >= 256 ? 64 : 32;
    const uint32_t kernel = to[weights].dtype == BP_F16 ? kKernel_recurrent_f32_by_f16 : kKernel_recurrent_f32;
    for (int64_t step = 0; step < r.steps; ++step) {
        p.step = word(step);
        p.before = word(rows.before(step));
        p.after = word(rows.after(step));
        for (const uint32_t kind : kinds) {
            to.rows(step_label(to, node), kernel, uint64_t{p.hidden} * p.blocks * p.directions, local, operands, words_of(p),
                    {kind, rows_of_group});
            to.plan.dispatches.back().work =
                2.0 * static_cast<double>(r.directions * r.batch * r.gates * r.hidden * r.hidden);
        }
    }
}

// The product of all steps, before the recurrence begins.
Verdict check(const Plan& plan, const Node& node) {
    const Value& y = plan[node.output];
    if (y.elements() < INT32_MAX / 8) return {};
    return {BP_WHY_LIMIT, node.text() + ": " + y.text() + " is a sequence longer than kernels count; cut it"};
}

constexpr uint32_t kOwn = 1U << rules::kRecurrentR | 1U << rules::kRecurrentLengths;
constexpr OpLowering table[] = {{BP_OP_lstm, Types::computes, kOwn, check, lower},
                                {BP_OP_gru, Types::computes, kOwn, check, lower}};

}  // namespace

const OpFamily ops_recurrent = {table, std::size(table)};

}  // namespace backplane::gpu::ops::recurrent
