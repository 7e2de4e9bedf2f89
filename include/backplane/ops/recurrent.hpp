// Descriptions of LSTM and GRU.
#pragma once

#include "backplane/ops/description.hpp"

namespace backplane::ops {

struct LstmAttributes {
    int64_t direction = BP_DIRECTION_FORWARD;
    List activations;           // BP_OP_*: f, g and h of each direction; empty: Sigmoid, Tanh, Tanh
    double clip = 0;            // sums are cut to -clip and clip before an activation; 0: not
    int64_t hidden_size = 0;    // 0: as the operands have it
    bool input_forget = false;  // the forget gate is 1 less the input gate
    int64_t layout = 0;         // 0: the sequence comes first; 1: the batch
};
struct GruAttributes {
    int64_t direction = BP_DIRECTION_FORWARD;
    List activations;  // BP_OP_*: f and g of each direction; empty: Sigmoid, Tanh
    double clip = 0;
    int64_t hidden_size = 0;
    int64_t layout = 0;
    bool linear_before_reset = false;  // the reset gate is applied behind the product, not before
};

// Operands of both ops, in order; the last two are LSTM's.
enum RecurrentOperand : uint32_t {
    kRecurrentX,
    kRecurrentW,
    kRecurrentR,
    kRecurrentB,
    kRecurrentLengths,
    kRecurrentH,
    kRecurrentC,
    kRecurrentP
};

// The sizes that both ops are about.
struct RecurrentShape {
    int64_t steps = 0, batch = 0, inputs = 0, directions = 0, hidden = 0;

    // x, the sequence; r, the weights of the recurrence, [directions, gates * hidden, hidden]. Extents in any list that has an operator [].
    template <class X, class R>
    static RecurrentShape of(const X& x, const R& r, int64_t layout) {
        return {x[layout == 0 ? 0 : 1], x[layout == 0 ? 1 : 0], x[2], r[0], r[2]};
    }
    // Of y, and of the states.
    [[nodiscard]] Dims all(int64_t layout) const {
        return layout == 0 ? Dims{steps, directions, batch, hidden} : Dims{batch, steps, directions, hidden};
    }
    [[nodiscard]] Dims state(int64_t layout) const {
        return layout == 0 ? Dims{directions, batch, hidden} : Dims{batch, directions, hidden};
    }
};

inline constexpr uint32_t kLstmActivations[] = {BP_OP_sigmoid, BP_OP_tanh, BP_OP_tanh};
inline constexpr uint32_t kGruActivations[] = {BP_OP_sigmoid, BP_OP_tanh};

constexpr int64_t directions_of(int64_t direction) { return direction == BP_DIRECTION_BIDIRECTIONAL ? 2 : 1; }

// What a node's list means: function k of a direction.
inline uint32_t activation_of(const List& activations, std::span<const uint32_t> defaults, int64_t direction, size_t k) {
    if (activations.empty()) return defaults[k];
    return static_cast<uint32_t>(activations[static_cast<size_t>(direction) * defaults.size() + k]);
}

inline void check_activations(const List& activations, size_t wanted) {
    require_attribute(activations.empty() || activations.size() == wanted, [&] {
        return "attribute activations has " + std::to_string(activations.size()) + " ops, needs " + std::to_string(wanted);
    });
    for (const int64_t op : activations)
        require_attribute(op == BP_OP_sigmoid || op == BP_OP_tanh || op == BP_OP_relu, [&] {
            return std::string("the activation ") + op_name(static_cast<uint32_t>(op)) +
                   " is not one of Sigmoid, Tanh and Relu";
        });
}

// The operands' shapes; `gates`: blocks of `hidden` rows in the weights.
template <class A>
RecurrentShape check_recurrent(const Call& call, const A& a, int64_t gates, size_t activations) {
    check_activations(a.activations, activations * static_cast<size_t>(directions_of(a.direction)));
    for (const uint32_t i : {kRecurrentX, kRecurrentW, kRecurrentR}) require_rank(call, i, 3);
    const auto s = RecurrentShape::of(call.dims(kRecurrentX), call.dims(kRecurrentR), a.layout);
    require_attribute(s.directions == directions_of(a.direction), [&] {
        return call.text(kRecurrentR) + " has " + std::to_string(s.directions) +
               " directions, the attribute direction says " + std::to_string(directions_of(a.direction));
    });
    require_attribute(a.hidden_size == 0 || a.hidden_size == s.hidden, [&] {
        return "hidden_size is " + std::to_string(a.hidden_size) + ", " + call.text(kRecurrentR) + " is of " +
               std::to_string(s.hidden);
    });
    require_attribute(a.clip >= 0, [&] { return "attribute clip must be 0 or more"; });
    const int64_t rows = checked_mul(call, gates, s.hidden);
    const auto require_dims = [&](uint32_t i, const Dims& wanted) {
        require(!call.has(i) || call.dims(i) == wanted, [&] {
            return call.text(i) + " must be " + text_of(wanted) + " for " + call.text(kRecurrentX) + " and " +
                   call.text(kRecurrentR);
        });
    };
    require_dims(kRecurrentW, {s.directions, rows, s.inputs});
    require_dims(kRecurrentR, {s.directions, rows, s.hidden});
    require_dims(kRecurrentB, {s.directions, 2 * rows});
    require_dims(kRecurrentLengths, {s.batch});
    require_dims(kRecurrentH, s.state(a.layout));
    require_dims(kRecurrentC, s.state(a.layout));
    require_dims(kRecurrentP, {s.directions, checked_mul(call, 3, s.hidden)});
    return s;
}

inline void recurrent_results(const Call& call, const RecurrentShape& s, int64_t layout, Outputs out) {
    out[0].dims = s.all(layout);
    static_cast<void>(elements_of(call, {out[0].dims.begin(), out[0].dims.end()}));
    for (Operand& state : out.subspan(1)) state.dims = s.state(layout);
}

inline void lstm_shape(const Call& call, Outputs out) {
    const auto& a = call.as<LstmAttributes>();
    recurrent_results(call, check_recurrent(call, a, 4, std::size(kLstmActivations)), a.layout, out);
}
inline void gru_shape(const Call& call, Outputs out) {
    const auto& a = call.as<GruAttributes>();
    recurrent_results(call, check_recurrent(call, a, 3, std::size(kGruActivations)), a.layout, out);
}

inline constexpr auto op_lstm = describe<LstmAttributes>(
    {.id = BP_OP_lstm,
     .summary = "a sequence through long short-term memory, forward, reverse or both",
     .shapes = "x[T, N, I], w[d, 4H, I], r[d, 4H, H], b[d, 8H], sequence_lens[N], initial_h[d, N, H], initial_c[d, N, H], "
               "p[d, 3H] -> y[T, d, N, H], y_h[d, N, H], y_c[d, N, H]; d is 2 where bidirectional. With layout 1 x is "
               "[N, T, I], y [N, T, d, H] and states are [N, d, H]. Gates come in the order input, output, forget, cell",
     .inputs = {{"x", one_of(kFloats)},
                {"w", like(0, kHalves)},
                {"r", like(0, kHalves)},
                {"b", like(0), true},
                {"sequence_lens", one_of(kWhole), true},
                {"initial_h", like(0), true},
                {"initial_c", like(0), true},
                {"p", like(0), true}},
     .outputs = {{"y", like(0)}, {"y_h", like(0)}, {"y_c", like(0)}},
     .attributes = {attribute<&LstmAttributes::direction>(BP_ATTR_direction, between(0, BP_DIRECTION_BIDIRECTIONAL)),
                    attribute<&LstmAttributes::activations>(BP_ATTR_activations, at_least(0)),
                    attribute<&LstmAttributes::clip>(BP_ATTR_clip),
                    attribute<&LstmAttributes::hidden_size>(BP_ATTR_hidden_size, at_least(0)),
                    attribute<&LstmAttributes::input_forget>(BP_ATTR_input_forget),
                    attribute<&LstmAttributes::layout>(BP_ATTR_layout, between(0, 1))},
     .shape = lstm_shape});

inline constexpr auto op_gru = describe<GruAttributes>(
    {.id = BP_OP_gru,
     .summary = "a sequence through gated recurrent units, forward, reverse or both",
     .shapes = "x[T, N, I], w[d, 3H, I], r[d, 3H, H], b[d, 6H], sequence_lens[N], initial_h[d, N, H] -> y[T, d, N, H], "
               "y_h[d, N, H]; d is 2 where bidirectional. With layout 1 x is [N, T, I], y [N, T, d, H] and states are "
               "[N, d, H]. Gates come in the order update, reset, hidden",
     .inputs = {{"x", one_of(kFloats)},
                {"w", like(0, kHalves)},
                {"r", like(0, kHalves)},
                {"b", like(0), true},
                {"sequence_lens", one_of(kWhole), true},
                {"initial_h", like(0), true}},
     .outputs = {{"y", like(0)}, {"y_h", like(0)}},
     .attributes = {attribute<&GruAttributes::direction>(BP_ATTR_direction, between(0, BP_DIRECTION_BIDIRECTIONAL)),
                    attribute<&GruAttributes::activations>(BP_ATTR_activations, at_least(0)),
                    attribute<&GruAttributes::clip>(BP_ATTR_clip),
                    attribute<&GruAttributes::hidden_size>(BP_ATTR_hidden_size, at_least(0)),
                    attribute<&GruAttributes::layout>(BP_ATTR_layout, between(0, 1)),
                    attribute<&GruAttributes::linear_before_reset>(BP_ATTR_linear_before_reset)},
     .shape = gru_shape});

}  // namespace backplane::ops
