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

struct Case {
    Graph graph;
    std::vector<float> x, y, z, expected;
};

// relu(x y + z): a matrix product, or where the device has none the product of elements.
Case make_case(bool matrices) {
    Case c;
    const auto rows = static_cast<int64_t>(kRows);
    const auto inner = static_cast<int64_t>(kInner);
    const auto columns = static_cast<int64_t>(kColumns);
    const Shape of_result{rows, columns};
    const TensorId x = c.graph.input("x", DType::f32, matrices ? Shape{rows, inner} : of_result);
    const TensorId y = c.graph.input("y", DType::f32, matrices ? Shape{inner, columns} : of_result);
    const TensorId z = c.graph.input("z", DType::f32, of_result);
    const TensorId product = c.graph.add(matrices ? Op::matmul : Op::mul, {x, y});
    c.graph.output(c.graph.add(Op::relu, {c.graph.add(Op::add, {product, z})}), "result");
    c.x = filled(matrices ? kRows * kInner : kRows * kColumns, element_of_x);
    c.y = filled(matrices ? kInner * kColumns : kRows * kColumns, element_of_y);
    c.z = filled(kRows * kColumns, element_of_z);
    c.expected = c.z;
    for (size_t i = 0; i < c.expected.size(); ++i) {
        if (!matrices) c.expected[i] += c.x[i] * c.y[i];
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
    for (const bool matrices : {true, false}) {
        const Case c = make_case(matrices);
        step("query");
        const std::vector<NodeSupport> answers = query(device, c.graph);
        if (!std::all_of(answers.begin(), answers.end(), [](const NodeSupport& n) { return n.supported; })) continue;
        step("compile");
        Session session(device, c.graph, WeightSource{});
        for (int round = 0; round < 2; ++round) {  // a driver builds at the first
            step("run");
            std::vector<float> result(c.expected.size(), std::nanf(""));
            session.run({{{"x", std::as_bytes(std::span(c.x))},
                          {"y", std::as_bytes(std::span(c.y))},
                          {"z", std::as_bytes(std::span(c.z))}}},
                        {{{"result", std::as_writable_bytes(std::span(result))}}});
            std::string wrong = compare(result, c.expected, matrices ? "relu(x y + z)" : "relu(x * y + z)");
            if (!wrong.empty()) return wrong;
        }
        return {};
    }
    return {};
}

}  // namespace backplane::probe
