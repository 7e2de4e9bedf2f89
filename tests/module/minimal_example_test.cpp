// The example of examples/minimal-backend, found as a file and used through the library as an application would.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "backplane/context.hpp"
#include "backplane/graph.hpp"
#include "backplane/runtime.hpp"

namespace backplane {
namespace {

ContextOptions only_the_example() {
    ContextOptions options;
    options.module_paths = {BP_TEST_MINIMAL};
    options.search_defaults = false;
    options.use_linked_in = false;
    options.use_environment = false;
    return options;
}

std::span<const std::byte> bytes_of(const std::vector<float>& v) { return std::as_bytes(std::span(v)); }
std::span<std::byte> room_of(std::vector<float>& v) { return std::as_writable_bytes(std::span(v)); }

TEST(MinimalExample, IsFoundJudgedAndListed) {
    const Context context(only_the_example());
    const Report report = context.report();
    ASSERT_EQ(report.candidates.size(), 1U) << report.summary();
    EXPECT_EQ(report.candidates[0].verdict, Verdict::loaded) << report.candidates[0].reason;
    ASSERT_EQ(report.devices.size(), 1U);
    EXPECT_EQ(report.devices[0].backend, "minimal");
    EXPECT_EQ(report.devices[0].kind, DeviceKind::software);
    EXPECT_EQ(report.devices[0].module_version, "1.0.0");
}

TEST(MinimalExample, RunsAGraphOfItsThreeOps) {
    const Context context(only_the_example());
    Graph graph;
    const Shape shape{3, 5};
    const TensorId a = graph.input("a", DType::f32, shape);
    const TensorId b = graph.input("b", DType::f32, shape);
    const TensorId scale = graph.weight("scale", DType::f32, shape);
    const TensorId sum = graph.add(Op::add, {a, b});
    const TensorId scaled = graph.add(Op::mul, {sum, scale});
    graph.output(graph.add(Op::relu, {scaled}), "y");

    std::vector<float> x(15);
    std::vector<float> y(15);
    std::vector<float> s(15);
    for (size_t i = 0; i < x.size(); ++i) {
        x[i] = static_cast<float>(i) - 7.0F;
        y[i] = 0.25F * static_cast<float>(i);
        s[i] = i % 2 == 0 ? 2.0F : -1.0F;
    }
    Session session(context.choose("minimal"), graph, [&](std::string_view name) {
        EXPECT_EQ(name, "scale");
        return bytes_of(s);
    });
    for (int round = 0; round < 2; ++round) {
        std::vector<float> result(15, 99.0F);
        session.run({{{"a", bytes_of(x)}, {"b", bytes_of(y)}}}, {{{"y", room_of(result)}}});
        for (size_t i = 0; i < result.size(); ++i) EXPECT_EQ(result[i], std::max((x[i] + y[i]) * s[i], 0.0F)) << i;
    }
}

TEST(MinimalExample, SaysWhatItCannotDo) {
    const Context context(only_the_example());
    Graph graph;
    const TensorId x = graph.input("x", DType::f32, {4});
    const TensorId row = graph.input("row", DType::f32, {1});
    const TensorId sum = graph.add(Op::add, {x, row}, {}, "broadcast");
    graph.output(graph.add(Op::exp, {sum}), "y");
    const Device device = context.choose("minimal");
    const std::vector<NodeSupport> support = query(device, graph);
    ASSERT_EQ(support.size(), 2U);
    EXPECT_FALSE(support[0].supported);
    EXPECT_EQ(support[0].reason, Why::shape);
    EXPECT_FALSE(support[1].supported);
    EXPECT_EQ(support[1].reason, Why::op);
    try {
        const Program program(device, graph);
        FAIL() << "compiled what it cannot do";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::unsupported) << error.what();
    }
}

}  // namespace
}  // namespace backplane
