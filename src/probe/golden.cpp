#include "probe/golden.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <sstream>
#include <vector>

#include "backplane/runtime.hpp"

namespace backplane::probe {

namespace {

// Whole numbers so small that products and sums of them are exact in half precision, too: whatever arithmetic a device prefers, in whatever
// order, the result is this one.
constexpr size_t kRows = 3;
constexpr size_t kInner = 4;
constexpr size_t kColumns = 5;
constexpr float kTolerance = 0.01F;

float element_of_x(size_t i) { return static_cast<float>(i % 5) - 2; }
float element_of_y(size_t i) { return static_cast<float>(i * 3 % 7) - 3; }
float element_of_z(size_t i) { return static_cast<float>(i % 4) - 1; }

std::vector<float> filled(size_t count, float (*element)(size_t)) {
    std::vector<float> values(count);
    for (size_t i = 0; i < count; ++i) values[i] = element(i);
    return values;
}

// The product of the case; richest first. A device is tried with the first of them that it has all ops for.
struct Kind {
    Op product;    // unknown: there is none
    bool weights;  // y is a weight, which the device packs as it likes
    const char* text;
};
constexpr std::array kKinds{Kind{Op::matmul, true, "relu(x W + z)"}, Kind{Op::matmul, false, "relu(x y + z)"},
                            Kind{Op::mul, true, "relu(x * w + z)"}, Kind{Op::mul, false, "relu(x * y + z)"},
                            Kind{Op::unknown, false, "relu(x)"}};

struct Case {
    Graph graph;
    std::vector<float> x, y, z, expected;
    std::vector<NamedBytes> inputs;
};

Case make_case(const Kind& kind) {
    Case c;
    const bool matrices = kind.product == Op::matmul;
    const auto rows = static_cast<int64_t>(kRows);
    const auto inner = static_cast<int64_t>(kInner);
    const auto columns = static_cast<int64_t>(kColumns);
    const Shape of_result{rows, columns};
    const Shape of_y = matrices ? Shape{inner, columns} : of_result;
    c.x = filled(matrices ? kRows * kInner : kRows * kColumns, element_of_x);
    c.inputs.push_back({"x", std::as_bytes(std::span(c.x))});
    TensorId value = c.graph.input("x", DType::f32, matrices ? Shape{rows, inner} : of_result);
    if (kind.product == Op::unknown) {
        c.expected = c.x;
    } else {
        c.y = filled(matrices ? kInner * kColumns : kRows * kColumns, element_of_y);
        c.z = filled(kRows * kColumns, element_of_z);
        c.inputs.push_back({"z", std::as_bytes(std::span(c.z))});
        if (!kind.weights) c.inputs.push_back({"y", std::as_bytes(std::span(c.y))});
        const TensorId y = kind.weights ? c.graph.weight("y", DType::f32, of_y) : c.graph.input("y", DType::f32, of_y);
        const TensorId z = c.graph.input("z", DType::f32, of_result);
        value = c.graph.add(Op::add, {c.graph.add(kind.product, {value, y}), z});
        c.expected = c.z;
    }
    c.graph.output(c.graph.add(Op::relu, {value}), "result");
    for (size_t i = 0; i < c.expected.size(); ++i) {
        if (kind.product == Op::mul) c.expected[i] += c.x[i] * c.y[i];
        for (size_t k = 0; matrices && k < kInner; ++k)
            c.expected[i] += c.x[i / kColumns * kInner + k] * c.y[k * kColumns + i % kColumns];
        c.expected[i] = std::max(c.expected[i], 0.0F);
    }
    return c;
}

std::string compare(const std::vector<float>& result, const std::vector<float>& expected, const char* what) {
    for (size_t i = 0; i < expected.size(); ++i) {
        if (std::abs(result[i] - expected[i]) <= kTolerance) continue;  // false for NaN
        std::ostringstream text;
        text << "computes wrongly: element " << i << " of " << what << " is " << result[i] << " instead of " << expected[i];
        return text.str();
    }
    return {};
}

}  // namespace

std::string golden_case(const Device& device, const std::function<void(const char*)>& step) {
    for (const Kind& kind : kKinds) {
        const Case c = make_case(kind);
        step("query");
        const std::vector<NodeSupport> answers = query(device, c.graph);
        if (!std::all_of(answers.begin(), answers.end(), [](const NodeSupport& n) { return n.supported; })) continue;
        step("compile");
        Session session(device, c.graph, [&](std::string_view) {
            step("pack");  // of the weights that it has compiled for
            return std::as_bytes(std::span(c.y));
        });
        for (int round = 0; round < 2; ++round) {  // a driver builds at the first
            step("run");
            std::vector<float> result(c.expected.size(), std::nanf(""));
            const std::array room{NamedRoom{"result", std::as_writable_bytes(std::span(result))}};
            session.run(c.inputs, room);
            std::string wrong = compare(result, c.expected, kind.text);
            if (!wrong.empty()) return wrong;
        }
        return {};
    }
    return {};
}

}  // namespace backplane::probe
