// Attention of opset 23 and 24, rotary positions, and recurrent layers that are written out step by step.
#include <cmath>

#include "formats/onnx/call.hpp"

namespace backplane::formats {
namespace {

// [N, T, H * D] to [N, H, T, D], or as it is with four axes.
TensorId with_heads(OnnxCall& call, size_t i, const char* heads) {
    const Shape& shape = call.shape(i);
    if (shape.size() == 4) return call.in(i);
    const int64_t count = call.integer(heads, 0);
    if (shape.size() != 3 || count < 1 || shape[2] % count != 0) call.refuse(std::string("of three axes without ") + heads);
    const TensorId apart = call.reshaped(call.in(i), {shape[0], shape[1], count, shape[2] / count});
    return call.add(Op::transpose, {apart}, {{Attr::perm, std::vector<int64_t>{0, 2, 1, 3}}});
}

void attention(OnnxCall& call) {
    const bool flat = call.rank(0) == 3;
    const TensorId q = with_heads(call, 0, "q_num_heads");
    TensorId k = with_heads(call, 1, "kv_num_heads"), v = with_heads(call, 2, "kv_num_heads");
    for (const char* name : {"q_num_heads", "kv_num_heads", "softmax_precision", "qk_matmul_output_mode"})
        static_cast<void>(call.attribute(name));
    if (call.wants(3)) call.refuse("the scores as a result");
    if (call.given(4) != call.given(5)) call.refuse("past keys without past values");
    if (call.given(4)) {
        k = call.add(Op::concat, {call.in(4), k}, {{Attr::axis, 2}});
        v = call.add(Op::concat, {call.in(5), v}, {{Attr::axis, 2}});
    }
    const Shape of_q = call.shape_of(q);
    const int64_t tokens = of_q[2], keys = call.shape_of(k)[2], past = call.given(4) ? call.shape(4)[2] : 0;
    bool causal = call.integer("is_causal", 0) != 0;
    TensorId mask = call.given(3) ? call.in(3) : no_tensor;
    // Query i sees keys up to past + i; the op's stands at the end of the keys.
    if (causal && keys != past + tokens) {
        if (mask.valid() || call.given(6) || tokens > (1 << 24) / std::max<int64_t>(1, keys))
            call.refuse("is_causal with a mask where there are not as many keys as queries");
        std::vector<double> seen;
        for (int64_t i = 0; i < tokens; ++i)
            for (int64_t j = 0; j < keys; ++j) seen.push_back(j <= past + i ? 1 : 0);
        mask = onnx_constant(call.graph, onnx_tensor(DType::boolean, {tokens, keys}, seen));
        causal = false;
    }
    std::vector<Attribute> attributes = {{Attr::causal, causal ? 1 : 0},
                                         {Attr::scale, call.number("scale", 1 / std::sqrt(static_cast<double>(of_q[3])))},
                                         {Attr::softcap, call.number("softcap", 0)}};
    // Keys behind the valid ones are padding; queries count from the front.
    if (call.given(6) && causal) call.refuse("is_causal with nonpad_kv_seqlen");
    TensorId y = call.add(Op::attention, {q, k, v, mask, call.in(6)}, attributes);
    if (flat) {
        const Shape of_y = call.shape_of(y);
        y = call.add(Op::transpose, {y}, {{Attr::perm, std::vector<int64_t>{0, 2, 1, 3}}});
        y = call.reshaped(y, {of_y[0], of_y[2], of_y[1] * of_y[3]});
    }
    call.result(y);
    call.result(k, 1);
    call.result(v, 2);
}

// One direction of an RNN.
struct Recurrence {
    OnnxCall& call;
    Op activation;
    int64_t direction, batch, steps;
    double clip;
    TensorId x;        // [T, N, I]
    TensorId lengths;  // [N, 1], of i64; none: all steps count

    [[nodiscard]] TensorId of_direction(size_t operand) const {
        Shape shape = call.shape(operand);
        shape.erase(shape.begin());
        return call.reshaped(call.picked(call.in(operand), {direction}, 0), shape);
    }
    [[nodiscard]] TensorId part(TensorId of, int64_t from, int64_t to) const {
        return call.add(Op::slice, {of},
                        {{Attr::starts, std::vector<int64_t>{from}}, {Attr::ends, std::vector<int64_t>{to}}});
    }
    // What each step gives [N, H], in the order of time, and the last.
    std::pair<std::vector<TensorId>, TensorId> run(TensorId h, bool backwards) const {
        const TensorId r = of_direction(2);
        TensorId inputs = call.add(Op::matmul, {x, of_direction(1)}, {{Attr::transpose_b, 1}});
        if (call.given(3)) {
            const int64_t hidden = call.shape(2)[2];
            const TensorId b = of_direction(3);
            inputs = call.add(Op::add, {inputs, call.add(Op::add, {part(b, 0, hidden), part(b, hidden, 2 * hidden)})});
        }
        const Shape state = call.shape_of(h);
        std::vector<TensorId> made(at(steps));
        for (int64_t i = 0; i < steps; ++i) {
            const int64_t t = backwards ? steps - 1 - i : i;
            TensorId next = call.add(Op::add, {call.reshaped(call.picked(inputs, {t}, 0), state),
                                               call.add(Op::matmul, {h, r}, {{Attr::transpose_b, 1}})});
            if (clip > 0) next = call.add(Op::clip, {next}, {{Attr::least, -clip}, {Attr::most, clip}});
            next = call.add(activation, {next});
            made[at(t)] = next;
            if (lengths.valid()) {
                const TensorId there = call.add(Op::less, {call.scalar(static_cast<double>(t), DType::i64), lengths});
                made[at(t)] = call.add(Op::where, {there, next, call.scalar(0, call.dtype(0))});
                next = call.add(Op::where, {there, next, h});
            }
            h = next;
        }
        return {made, h};
    }
};

void rnn(OnnxCall& call) {
    constexpr int64_t kMostSteps = 4096;
    const bool batch_first = call.integer("layout", 0) != 0;
    const std::string direction = call.text("direction", "forward");
    const std::vector<std::string> activations = call.texts("activations");
    const int64_t directions = call.shape(1)[0], hidden = call.shape(2)[2];
    static_cast<void>(call.integer("hidden_size", hidden));
    TensorId x = call.in(0);
    if (batch_first) x = call.add(Op::transpose, {x}, {{Attr::perm, std::vector<int64_t>{1, 0, 2}}});
    const Shape shape = call.shape_of(x);
    if (shape.size() != 3 || shape[0] < 1 || shape[0] > kMostSteps)
        call.refuse("of " + std::to_string(shape.empty() ? 0 : shape[0]) + " steps; 1 to 4096 are written out");
    TensorId lengths = no_tensor;
    if (call.given(4)) lengths = call.reshaped(call.as(call.in(4), DType::i64), {shape[1], 1});
    std::vector<TensorId> outputs, last;
    std::vector<std::vector<TensorId>> made;
    for (int64_t d = 0; d < directions; ++d) {
        const std::string name = d < static_cast<int64_t>(activations.size()) ? activations[at(d)] : "Tanh";
        const Op op = op_from_name(name);
        if (op != Op::tanh && op != Op::relu && op != Op::sigmoid) call.refuse("activation " + name);
        const Recurrence recurrence{call, op, d, shape[1], shape[0], call.number("clip", 0), x, lengths};
        TensorId h = call.add(Op::expand, {call.scalar(0, call.dtype(0))}, {{Attr::shape, Shape{shape[1], hidden}}});
        if (call.given(5)) h = call.reshaped(call.picked(call.in(5), {d}, batch_first ? 1 : 0), {shape[1], hidden});
        auto [steps, state] = recurrence.run(h, direction == "reverse" || d == 1);
        made.push_back(std::move(steps));
        last.push_back(call.reshaped(state, {1, shape[1], hidden}));
    }
    for (int64_t t = 0; t < shape[0]; ++t)
        for (int64_t d = 0; d < directions; ++d) outputs.push_back(call.reshaped(made[at(d)][at(t)], {1, shape[1], hidden}));
    TensorId y = call.graph.add(Op::concat, outputs, {{Attr::axis, 0}});
    TensorId y_h = call.graph.add(Op::concat, last, {{Attr::axis, 0}});
    y = call.reshaped(y, {shape[0], directions, shape[1], hidden});
    if (batch_first) {
        y = call.add(Op::transpose, {y}, {{Attr::perm, std::vector<int64_t>{2, 0, 1, 3}}});
        y_h = call.add(Op::transpose, {y_h}, {{Attr::perm, std::vector<int64_t>{1, 0, 2}}});
    }
    call.result(y);
    call.result(y_h, 1);
}

constexpr OnnxRuleRow kAttentionRules[] = {
    {"Attention", attention},
    {"RotaryEmbedding", onnx_same},
    {"RNN", rnn},
};

}  // namespace

std::span<const OnnxRuleRow> onnx_rules_attention() { return kAttentionRules; }

}  // namespace backplane::formats
