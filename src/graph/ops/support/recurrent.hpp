// The recurrent ops over any kind of number: the references run them on doubles, the bounds of the conformance table on numbers with errors. A kind of
// number has + and *, one_less (1 - x), activate(op, x), clipped(x, most), and is made from a double.
#pragma once

#include <algorithm>
#include <cmath>

#include "graph/attributes.hpp"
#include "graph/op_definition.hpp"
#include "graph/ops/support/integers.hpp"

namespace backplane::graph {

inline bool has_cells(Op op) { return op == Op::lstm; }  // a state beside the one that it shows

inline double one_less(double x) { return 1 - x; }
inline double clipped(double x, double most) { return std::clamp(x, -most, most); }
inline double activate(uint32_t op, double x) {
    if (op == BP_OP_relu) return x < 0 ? 0 : x;
    return op == BP_OP_tanh ? std::tanh(x) : 1 / (1 + std::exp(-x));
}

// A node of either op. Operands in the order of RecurrentOperand; an empty one is not given.
template <typename Number>
struct Recurrence {
    using Numbers = std::vector<Number>;
    backplane::ops::RecurrentShape shape;
    int64_t direction = 0, layout = 0;
    backplane::ops::List activations;
    double clip = 0;
    bool input_forget = false, linear_before_reset = false;
    Numbers x, w, r, b, h, c, p;
    std::vector<int64_t> lengths;

    // Of a node. `number(k)`: the numbers of operand k, none where it is not given.
    template <typename NumbersOf>
    Recurrence(Op op, std::span<const ReferenceTensor* const> inputs, const AttributeView& attributes, NumbersOf&& numbers)
        : direction(attributes.integer(Attr::direction)),
          layout(attributes.integer(Attr::layout)),
          clip(attributes.number(Attr::clip)),
          op_(op) {
        using namespace backplane::ops;
        for (const int64_t each : attributes.integers(Attr::activations)) activations.push_back(each);
        if (has_cells(op)) input_forget = attributes.integer(Attr::input_forget) != 0;
        if (!has_cells(op)) linear_before_reset = attributes.integer(Attr::linear_before_reset) != 0;
        shape = RecurrentShape::of(inputs[kRecurrentX]->shape, inputs[kRecurrentR]->shape, layout);
        Numbers* const parts[] = {&x, &w, &r, &b, nullptr, &h, &c, &p};
        for (size_t k = 0; k < inputs.size(); ++k)
            if (parts[k] != nullptr) *parts[k] = numbers(k);
        lengths.assign(static_cast<size_t>(shape.batch), shape.steps);
        if (inputs.size() > kRecurrentLengths && inputs[kRecurrentLengths] != nullptr)
            for (size_t n = 0; n < lengths.size(); ++n)
                lengths[n] = std::clamp<int64_t>(to_integer(inputs[kRecurrentLengths]->data[n]), 0, shape.steps);
    }

    // The outputs in order, as they lie.
    std::vector<Numbers> run() {
        const auto state = static_cast<size_t>(shape.directions * shape.batch * shape.hidden);
        std::vector<Numbers> out{Numbers(static_cast<size_t>(shape.steps) * state), Numbers(state)};
        if (has_cells(op_)) out.emplace_back(state);
        for (int64_t d = 0; d < shape.directions; ++d)
            for (int64_t n = 0; n < shape.batch; ++n) run_row(d, n, out);
        return out;
    }

private:
    [[nodiscard]] size_t state_at(int64_t d, int64_t n) const {
        const int64_t row = layout == 0 ? d * shape.batch + n : n * shape.directions + d;
        return static_cast<size_t>(row * shape.hidden);
    }
    [[nodiscard]] int64_t row_at(int64_t t, int64_t n) const {
        return layout == 0 ? t * shape.batch + n : n * shape.steps + t;
    }
    [[nodiscard]] size_t result_at(int64_t t, int64_t d, int64_t n) const {
        const int64_t row = layout == 0 ? (t * shape.directions + d) * shape.batch + n : row_at(t, n) * shape.directions + d;
        return static_cast<size_t>(row * shape.hidden);
    }
    [[nodiscard]] Numbers state_of(const Numbers& given, int64_t d, int64_t n) const {
        Numbers s(static_cast<size_t>(shape.hidden));
        for (size_t i = 0; i < s.size() && !given.empty(); ++i) s[i] = given[state_at(d, n) + i];
        return s;
    }

    void run_row(int64_t d, int64_t n, std::vector<Numbers>& out) const {
        Numbers now = state_of(h, d, n);
        Numbers cell = state_of(c, d, n);
        const bool backwards = direction == BP_DIRECTION_REVERSE || d == 1;
        const int64_t length = lengths[static_cast<size_t>(n)];
        for (int64_t step = 0; step < length; ++step) {
            const int64_t t = backwards ? length - 1 - step : step;
            now = has_cells(op_) ? lstm_step(d, row_at(t, n), now, cell) : gru_step(d, row_at(t, n), now);
            std::copy(now.begin(), now.end(), out[0].begin() + static_cast<std::ptrdiff_t>(result_at(t, d, n)));
        }
        std::copy(now.begin(), now.end(), out[1].begin() + static_cast<std::ptrdiff_t>(state_at(d, n)));
        if (has_cells(op_))
            std::copy(cell.begin(), cell.end(), out[2].begin() + static_cast<std::ptrdiff_t>(state_at(d, n)));
    }

    // Parts of the sum of unit i of a gate: by the input, and by the state, each with its bias.
    [[nodiscard]] Number from_input(int64_t d, int64_t gates, int64_t gate, int64_t i, int64_t row) const {
        const int64_t of = gate * shape.hidden + i;
        Number sum = b.empty() ? Number(0) : b[static_cast<size_t>(d * 2 * gates * shape.hidden + of)];
        for (int64_t k = 0; k < shape.inputs; ++k)
            sum = sum + x[static_cast<size_t>(row * shape.inputs + k)] *
                            w[static_cast<size_t>((d * gates * shape.hidden + of) * shape.inputs + k)];
        return sum;
    }
    [[nodiscard]] Number from_state(int64_t d, int64_t gates, int64_t gate, int64_t i, const Numbers& state) const {
        const int64_t of = gate * shape.hidden + i;
        Number sum = b.empty() ? Number(0) : b[static_cast<size_t>((d * 2 + 1) * gates * shape.hidden + of)];
        for (int64_t k = 0; k < shape.hidden; ++k)
            sum = sum +
                  state[static_cast<size_t>(k)] * r[static_cast<size_t>((d * gates * shape.hidden + of) * shape.hidden + k)];
        return sum;
    }
    [[nodiscard]] Number function(std::span<const uint32_t> defaults, int64_t d, size_t k, Number sum) const {
        return activate(backplane::ops::activation_of(activations, defaults, d, k), clip != 0 ? clipped(sum, clip) : sum);
    }

    Numbers lstm_step(int64_t d, int64_t row, const Numbers& before, Numbers& cell) const {
        enum { input, output, forget, content };
        const auto does = [&](size_t k, Number sum) { return function(backplane::ops::kLstmActivations, d, k, sum); };
        Numbers next(before.size());
        for (int64_t i = 0; i < shape.hidden; ++i) {
            Number& inside = cell[static_cast<size_t>(i)];
            const auto sum = [&](int64_t gate) {
                const Number plain = from_input(d, 4, gate, i, row) + from_state(d, 4, gate, i, before);
                if (p.empty() || gate == content) return plain;
                return plain + inside * p[static_cast<size_t>((d * 3 + gate) * shape.hidden + i)];
            };
            const Number in = does(0, sum(input));
            const Number kept = input_forget ? one_less(in) : does(0, sum(forget));
            inside = kept * inside + in * does(1, sum(content));
            next[static_cast<size_t>(i)] = does(0, sum(output)) * does(2, inside);
        }
        return next;
    }

    Numbers gru_step(int64_t d, int64_t row, const Numbers& before) const {
        enum { update, reset, content };
        const auto does = [&](size_t k, Number sum) { return function(backplane::ops::kGruActivations, d, k, sum); };
        Numbers next(before.size());
        Numbers open(before.size());  // reset gates
        Numbers reached = before;     // what the content sees of the state
        for (int64_t i = 0; i < shape.hidden; ++i) {
            open[static_cast<size_t>(i)] = does(0, from_input(d, 3, reset, i, row) + from_state(d, 3, reset, i, before));
            if (!linear_before_reset)
                reached[static_cast<size_t>(i)] = open[static_cast<size_t>(i)] * before[static_cast<size_t>(i)];
        }
        for (int64_t i = 0; i < shape.hidden; ++i) {
            const Number z = does(0, from_input(d, 3, update, i, row) + from_state(d, 3, update, i, before));
            Number state = from_state(d, 3, content, i, reached);
            if (linear_before_reset) state = open[static_cast<size_t>(i)] * state;
            const Number fresh = does(1, from_input(d, 3, content, i, row) + state);
            next[static_cast<size_t>(i)] = one_less(z) * fresh + z * before[static_cast<size_t>(i)];
        }
        return next;
    }

    Op op_;
};

template <Op op>
void reference_recurrence(const ReferenceCall& call) {
    Recurrence<double> node(op, call.inputs, call.attributes,
                            [&](size_t k) { return call.has(k) ? call.input(k).data : std::vector<double>(); });
    std::vector<std::vector<double>> results = node.run();
    for (size_t i = 0; i < results.size(); ++i) call.outputs[i].data = std::move(results[i]);
}

}  // namespace backplane::graph
