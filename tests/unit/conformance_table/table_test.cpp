// The table itself: complete, sound, the same everywhere, and able to fail.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "conformance/conformance.hpp"
#include "graph/element_types.hpp"
#include "graph/evaluate.hpp"

namespace backplane::graph {
namespace {

class TableOf : public testing::TestWithParam<Op> {
protected:
    std::vector<ConformanceCase> cases = conformance_cases(GetParam());
};
INSTANTIATE_TEST_SUITE_P(Ops, TableOf, testing::ValuesIn(all_ops().begin(), all_ops().end()),
                         [](const auto& op) { return std::string(backplane::name_of(op.param)); });

std::vector<TensorBytes> inputs_of(const CaseData& data) {
    std::vector<TensorBytes> inputs;
    for (const TensorContent& c : data.contents) inputs.push_back({c.tensor, c.bytes});
    return inputs;
}

std::vector<std::byte> reference_of(const CaseData& data, TensorId output) {
    std::vector<std::byte> bytes(backplane::bytes(data.graph[output].dtype, data.graph[output].shape));
    const TensorRoom room[] = {{output, bytes}};
    evaluate(data.graph, inputs_of(data), room);
    return bytes;
}

const ConformanceCase& named(const std::vector<ConformanceCase>& cases, const std::string& name) {
    const auto found = std::find_if(cases.begin(), cases.end(), [&](const ConformanceCase& c) { return c.name == name; });
    if (found == cases.end()) throw std::runtime_error("no case " + name);
    return *found;
}

// The verdict on the first result of a case with one element changed.
Comparison verdict_with(const std::string& name, Op op, size_t element, double (*change)(double value, double bound)) {
    const CaseData data = named(conformance_cases(op), name).build();
    const std::vector<BoundedTensor> expected = expect(data);
    const TensorId output = data.graph.with_role(Role::output)[0];
    const BoundedTensor& want = expected[output.index];
    std::vector<double> values = want.value.data;
    values[element] = change(values[element], want.bound.empty() ? 0 : want.bound[element]);
    return compare(data, expected, output, encode(values, want.value.dtype));
}

TEST_P(TableOf, HasItsBoundOnThePage) {
    std::ifstream file(std::string(BP_TEST_SOURCE_DIR) + "/docs/conformance.md");
    const std::string page{std::istreambuf_iterator<char>(file), {}};
    const std::string name(backplane::name_of(GetParam()));
    EXPECT_TRUE(std::regex_search(page, std::regex("\\b" + name + "\\b"))) << "docs/conformance.md has no row for " << name;
}

TEST_P(TableOf, HasCasesWithNamesOfTheirOwn) {
    EXPECT_GE(cases.size(), 12U);
    std::set<std::string> names;
    for (const ConformanceCase& c : cases) {
        EXPECT_EQ(c.op, GetParam());
        EXPECT_TRUE(names.insert(c.name).second) << c.name << " is there twice";
        EXPECT_EQ(c.name.rfind(std::string(backplane::name_of(GetParam())) + "/", 0), 0U) << c.name;
    }
}

TEST_P(TableOf, EveryCaseHoldsItsOpAndIsTheSameEachTime) {
    for (const ConformanceCase& c : cases) {
        const CaseData data = c.build();
        const std::vector<Node>& nodes = data.graph.nodes();
        EXPECT_TRUE(std::any_of(nodes.begin(), nodes.end(), [&](const Node& n) { return n.op == c.op; })) << c.name;
        EXPECT_FALSE(data.graph.with_role(Role::output).empty()) << c.name;
        const CaseData again = c.build();
        EXPECT_EQ(data.graph.hash(), again.graph.hash()) << c.name;
        ASSERT_EQ(data.contents.size(), again.contents.size()) << c.name;
        for (size_t i = 0; i < data.contents.size(); ++i)
            EXPECT_EQ(data.contents[i].bytes, again.contents[i].bytes) << c.name;
    }
}

// What a case expects. Computing it is what takes time here, so one test asks all that is asked of it.
struct Made {
    const std::string& name;
    CaseData data;
    std::vector<BoundedTensor> expected;
};

void expect_that_the_reference_passes(const Made& made) {
    const std::vector<TensorId> outputs = made.data.graph.with_role(Role::output);
    std::vector<std::vector<std::byte>> results;
    std::vector<TensorRoom> rooms;
    for (const TensorId output : outputs)
        results.emplace_back(backplane::bytes(made.data.graph[output].dtype, made.data.graph[output].shape));
    for (size_t i = 0; i < outputs.size(); ++i) rooms.push_back({outputs[i], results[i]});
    evaluate(made.data.graph, inputs_of(made.data), rooms);
    for (size_t i = 0; i < outputs.size(); ++i) {
        const Comparison verdict = compare(made.data, made.expected, outputs[i], results[i]);
        EXPECT_TRUE(verdict.passed) << made.name << ": " << verdict.text;
        EXPECT_LE(verdict.worst, 0.75) << made.name;
    }
}

// The value and bounds of expect() are those of evaluate(), so that there is one reference.
void expect_the_values_of_the_reference(const Made& made) {
    const std::vector<ReferenceTensor> values = evaluate_values(made.data.graph, inputs_of(made.data));
    for (const TensorId output : made.data.graph.with_role(Role::output)) {
        const std::vector<double>& a = made.expected[output.index].value.data;
        const std::vector<double>& b = values[output.index].data;
        ASSERT_EQ(a.size(), b.size());
        for (size_t i = 0; i < a.size(); ++i)
            ASSERT_TRUE(a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) << made.name << " element " << i;
    }
}

void expect_bounds_that_are_finite_and_small_beside_the_results(const Made& made) {
    for (const TensorId output : made.data.graph.with_role(Role::output)) {
        const BoundedTensor& t = made.expected[output.index];
        double largest = 0, widest = 0;
        for (size_t i = 0; i < t.bound.size(); ++i) {
            if (!std::isfinite(t.value.data[i])) continue;
            ASSERT_TRUE(std::isfinite(t.bound[i]) && t.bound[i] >= 0) << made.name << " element " << i;
            largest = std::max(largest, std::fabs(t.value.data[i]));
            widest = std::max(widest, t.bound[i]);
        }
        const std::vector<TensorInfo>& tensors = made.data.graph.tensors();
        const bool half = std::any_of(tensors.begin(), tensors.end(), [](const TensorInfo& x) {
            return x.role != Role::weight && (x.dtype == DType::f16 || x.dtype == DType::bf16);
        });
        const bool rounded = t.value.dtype == DType::q8_0;  // to a digit of 127
        EXPECT_LE(widest, (half ? 0.1 : rounded ? 0.02 : 5e-3) * std::max(largest, 1e-3)) << made.name;
    }
}

void expect_that_a_wrong_element_fails(const Made& made) {
    for (const TensorId output : made.data.graph.with_role(Role::output)) {
        const ReferenceTensor& want = made.expected[output.index].value;
        if (want.data.empty()) continue;
        double largest = 1;
        for (const double v : want.data)
            if (std::isfinite(v)) largest = std::max(largest, std::fabs(v));
        std::vector<double> wrong = want.data;
        double& last = wrong.back();
        last = want.dtype == DType::boolean       ? (last == 0 ? 1 : 0)
               : std::isfinite(last) && last <= 0 ? last + largest
               : std::isfinite(last)              ? last - largest
                                                  : 1;
        EXPECT_FALSE(compare(made.data, made.expected, output, encode(wrong, want.dtype)).passed) << made.name;
    }
}

TEST_P(TableOf, TheReferencePassesEveryCaseWithinBoundsThatAreSmallAndAWrongElementFails) {
    for (const ConformanceCase& c : cases) {
        CaseData data = c.build();
        std::vector<BoundedTensor> expected = expect(data);
        const Made made{c.name, std::move(data), std::move(expected)};
        expect_that_the_reference_passes(made);
        expect_the_values_of_the_reference(made);
        expect_bounds_that_are_finite_and_small_beside_the_results(made);
        expect_that_a_wrong_element_fails(made);
        if (HasFatalFailure()) return;
    }
}

TEST(ConformanceComparison, SaysWhichElementIsWrongAndByHowMuch) {
    const Comparison verdict = verdict_with("Mul/3x5-3x1-f32", Op::mul, 7, [](double v, double) { return v + 1; });
    EXPECT_FALSE(verdict.passed);
    EXPECT_GT(verdict.worst, 1e5);
    EXPECT_NE(verdict.text.find("y0[1, 2]"), std::string::npos) << verdict.text;
    EXPECT_NE(verdict.text.find("1 of 15 elements"), std::string::npos) << verdict.text;
}

TEST(ConformanceComparison, TurnsOnTheBound) {
    const auto within = [](double v, double bound) { return v + 0.9 * bound; };
    const auto beyond = [](double v, double bound) { return v + 1.2 * bound; };
    for (const auto& [name, op] : {std::pair{"Conv/3x3-16-to-16", Op::conv}, std::pair{"MatMul/17x19x23", Op::matmul},
                                   std::pair{"LayerNorm/5x7-f64", Op::layer_norm}, std::pair{"Exp/1009-f32", Op::exp}}) {
        const Comparison good = verdict_with(name, op, 3, within);
        EXPECT_TRUE(good.passed) << name << ": " << good.text;
        EXPECT_FALSE(verdict_with(name, op, 3, beyond).passed) << name;
    }
}

TEST(ConformanceComparison, NotANumberMustBeOneAndNothingElseMay) {
    const auto nan = [](double, double) { return std::nan(""); };
    const auto one = [](double, double) { return 1.0; };
    EXPECT_FALSE(verdict_with("Exp/17-f32", Op::exp, 0, nan).passed);
    EXPECT_FALSE(verdict_with("Relu/special-f32", Op::relu, 4, one).passed);  // NaN
    EXPECT_FALSE(verdict_with("Relu/special-f32", Op::relu, 2, one).passed);  // infinity
    EXPECT_TRUE(verdict_with("Relu/special-f32", Op::relu, 4, [](double v, double) { return v; }).passed);
}

TEST(ConformanceComparison, WhatIsMovedKeepsItsSignOfZero) {
    const auto positive = [](double, double) { return 0.0; };
    // The second element of the source is -0.
    EXPECT_FALSE(verdict_with("Reshape/flat-f32", Op::reshape, 1, positive).passed);
    EXPECT_FALSE(verdict_with("Neg/special-f32", Op::neg, 0, positive).passed);
    EXPECT_TRUE(verdict_with("Relu/special-f32", Op::relu, 1, positive).passed);
}

TEST(ConformanceComparison, WhatIsMovedKeepsEveryBit) {
    const CaseData data = named(conformance_cases(Op::reshape), "Reshape/flat-f32").build();
    const TensorId output = data.graph.with_role(Role::output)[0];
    std::vector<std::byte> bytes = reference_of(data, output);
    EXPECT_TRUE(compare(data, expect(data), output, bytes).passed);
    bytes[4 * 4] ^= std::byte{1};  // the payload of a NaN
    EXPECT_FALSE(compare(data, expect(data), output, bytes).passed);
}

// What bounds are for: half precision in the middle must not pass as float32, nor a one-pass variance as two passes.
TEST(ConformanceBounds, HalfPrecisionDoesNotPassForFloat32) {
    for (const auto& [name, op] : {std::pair{"Conv/3x3-16-to-16", Op::conv}, std::pair{"Conv/3x3-64-to-64", Op::conv},
                                   std::pair{"MatMul/1x1009x3", Op::matmul}, std::pair{"MatMul/64x32x48", Op::matmul}}) {
        const CaseData data = named(conformance_cases(op), name).build();
        const std::vector<BoundedTensor> expected = expect(data);
        std::vector<std::vector<std::byte>> rounded;
        std::vector<TensorBytes> inputs;
        for (const TensorContent& c : data.contents) {
            std::vector<double> values = decode(c.bytes, DType::f32);
            // The 11 bits of a TF32 or f16 product.
            for (double& v : values) v = round_to(v, DType::f16);
            rounded.push_back(encode(values, DType::f32));
        }
        for (size_t i = 0; i < rounded.size(); ++i) inputs.push_back({data.contents[i].tensor, rounded[i]});
        const TensorId output = data.graph.with_role(Role::output)[0];
        std::vector<std::byte> bytes(backplane::bytes(data.graph[output].dtype, data.graph[output].shape));
        const TensorRoom room[] = {{output, bytes}};
        evaluate(data.graph, inputs, room);
        EXPECT_FALSE(compare(data, expected, output, bytes).passed) << name;
    }
}

}  // namespace
}  // namespace backplane::graph
