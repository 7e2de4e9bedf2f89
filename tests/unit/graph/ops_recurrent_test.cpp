// References and shape rules of LSTM and GRU, against their formulas written out for one unit.
#include <cmath>

#include "backplane/ops.hpp"
#include "graphs.hpp"

namespace backplane {
namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// Of one unit and one input: gates input, output, forget, cell.
const Given kW{{1, 4, 1}, {0.5, -0.25, 1.5, 2}};
const Given kR{{1, 4, 1}, {0.125, 0.75, -1, 0.5}};
const Given kB{{1, 8}, {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8}};
const Given kH{{1, 1, 1}, {0.3}};
const Given kC{{1, 1, 1}, {-0.6}};

TEST(Lstm, AStepIsWhatTheFormulasSay) {
    const Given p{{1, 3}, {0.9, -1.1, 0.7}};
    const auto y = run_all(Op::lstm, {{{1, 1, 1}, {2}}, kW, kR, kB, {}, kH, kC, p});
    const double i = sigmoid(1 + 0.0375 + 0.6 + 0.9 * -0.6), f = sigmoid(3 - 0.3 + 1.0 + 0.7 * -0.6);
    const double c = f * -0.6 + i * std::tanh(4 + 0.15 + 1.2);
    const double o = sigmoid(-0.5 + 0.225 + 0.8 - 1.1 * c);
    expect_close(y[0], {o * std::tanh(c)}, 1e-12);
    expect_close(y[1], {o * std::tanh(c)}, 1e-12);
    expect_close(y[2], {c}, 1e-12);
    const auto coupled = run_all(Op::lstm, {{{1, 1, 1}, {2}}, kW, kR, kB, {}, kH, kC, p}, {{Attr::input_forget, 1}});
    expect_close(coupled[2], {(1 - i) * -0.6 + i * std::tanh(5.35)}, 1e-12);
    const auto clipped = run_all(Op::lstm, {{{1, 1, 1}, {2}}, kW, kR, kB, {}, kH, kC}, {{Attr::clip, 0.25}});
    const double most = sigmoid(0.25), cell = most * -0.6 + most * std::tanh(0.25);
    expect_close(clipped[2], {cell}, 1e-12);
    expect_close(clipped[1], {most * std::tanh(std::max(cell, -0.25))}, 1e-12);
}

TEST(Gru, ResetsBeforeTheProductOrBehindIt) {
    const Given w{{1, 3, 1}, {0.5, -0.25, 1.5}}, r{{1, 3, 1}, {0.125, 0.75, -1}}, b{{1, 6}, {0.1, 0.2, 0.3, 0.4, 0.5, 0.6}};
    const double z = sigmoid(1 + 0.0375 + 0.5), open = sigmoid(-0.5 + 0.225 + 0.7);
    const auto mixed = [&](double sum) { return (1 - z) * std::tanh(sum) + z * 0.3; };
    expect_close(run_all(Op::gru, {{{1, 1, 1}, {2}}, w, r, b, {}, kH})[1], {mixed(3.3 - open * 0.3 + 0.6)}, 1e-12);
    expect_close(run_all(Op::gru, {{{1, 1, 1}, {2}}, w, r, b, {}, kH}, {{Attr::linear_before_reset, 1}})[1],
                 {mixed(3.3 + open * (-0.3 + 0.6))}, 1e-12);
}

TEST(Recurrent, RowsEndWhereTheirLengthsSayAndGoBackwardsFromThere) {
    // Three steps of three rows; lengths 2, 0 and 3.
    const Given x{{3, 3, 1}, {1, 2, 3, 4, 5, 6, 7, 8, 9}};
    const Given lengths{{3}, {2, 0, 3}, DType::i32};
    const Given h{{1, 3, 1}, {0.1, 0.2, 0.3}};
    const Given w{{1, 3, 1}, {0.1, 0.2, 0.3}}, r{{1, 3, 1}, {0.4, 0.5, 0.6}};
    const auto reverse = run_all(Op::gru, {x, w, r, {}, lengths, h}, {{Attr::direction, BP_DIRECTION_REVERSE}});
    const auto first = run_all(Op::gru, {{{2, 1, 1}, {4, 1}}, w, r, {}, {}, {{1, 1, 1}, {0.1}}})[0];
    const auto last = run_all(Op::gru, {{{3, 1, 1}, {9, 6, 3}}, w, r, {}, {}, {{1, 1, 1}, {0.3}}})[0];
    expect_close(reverse[0], {first[1], 0, last[2], first[0], 0, last[1], 0, 0, last[0]}, 1e-12);
    expect_close(reverse[1], {first[1], 0.2, last[2]}, 1e-12);
}

TEST(Recurrent, WhatIsNotDoneIsRefusedInASentence) {
    Graph g;
    const TensorId x = g.input("x", DType::f32, {4, 2, 3});
    const TensorId w = g.input("w", DType::f32, {1, 20, 3});
    const TensorId r = g.input("r", DType::f32, {1, 20, 5});
    const auto refused = [&](const ops::LstmAttributes& how) { return error_of([&] { ops::lstm(g, {x, w, r}, how); }); };
    const auto has = [](const std::string& text, const std::string& part) {
        EXPECT_NE(text.find(part), std::string::npos) << text;
    };
    has(refused({.activations = {BP_OP_sigmoid, BP_OP_softplus, BP_OP_tanh}}),
        "the activation Softplus is not one of Sigmoid, Tanh and Relu");
    has(refused({.activations = {BP_OP_sigmoid, BP_OP_tanh}}), "activations has 2 ops, needs 3");
    has(refused({.direction = BP_DIRECTION_BIDIRECTIONAL}), "has 1 directions, the attribute direction says 2");
    has(refused({.direction = 3}), "direction 3 is out of range");
    has(refused({.clip = -1}), "clip must be 0 or more");
    has(refused({.hidden_size = 4}), "hidden_size is 4, r [1, 20, 5] is of 5");
    has(refused({.layout = 2}), "layout 2 is out of range");
    const TensorId lengths = g.input("lengths", DType::i32, {4});
    has(error_of([&] { ops::lstm(g, {x, w, r, no_tensor, lengths}, {}); }), "sequence_lens [4] must be [2]");
    has(error_of([&] { ops::gru(g, {x, w, r}, {}); }), "w [1, 20, 3] must be [1, 15, 3]");
}

}  // namespace
}  // namespace backplane
