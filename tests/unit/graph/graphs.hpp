// Short forms for tests of the graph layer.
#pragma once

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "graph/element_types.hpp"
#include "graph/evaluate.hpp"

namespace backplane {

using List = std::vector<int64_t>;
using Numbers = std::vector<double>;
inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct Given {
    Shape shape;
    std::vector<double> values;
    DType dtype = DType::f32;
};

// Runs one node on constants, with all rounding; returns its numbers. `out` receives dtype and shape.
inline std::vector<double> run_op(Op op, const std::vector<Given>& inputs, std::vector<Attribute> attributes = {},
                                  TensorInfo* out = nullptr) {
    Graph g;
    std::vector<TensorId> ids;
    for (const Given& in : inputs) ids.push_back(g.constant("", in.dtype, in.shape, graph::encode(in.values, in.dtype)));
    const TensorId y = g.add(op, ids, std::move(attributes));
    g.output(y, "y");
    if (out != nullptr) *out = g[y];
    std::vector<std::byte> room(bytes(g[y].dtype, g[y].shape));
    const graph::TensorRoom rooms[] = {{y, room}};
    graph::evaluate(g, {}, rooms);
    return graph::decode(room, g[y].dtype);
}

// All outputs of a node on constants of f64; operands without a shape are not given.
inline std::vector<Numbers> run_all(Op op, const std::vector<Given>& inputs, const std::vector<Attribute>& attributes = {}) {
    Graph g;
    std::vector<TensorId> ids;
    for (const Given& in : inputs) {
        const DType dtype = in.dtype == DType::f32 ? DType::f64 : in.dtype;
        ids.push_back(in.shape.empty() ? no_tensor : g.constant("", dtype, in.shape, graph::encode(in.values, dtype)));
    }
    const std::vector<TensorId> results = g.add_all(op, ids, attributes);
    std::vector<std::vector<std::byte>> bytes_of;
    for (const TensorId r : results) {
        g.output(r, "y" + std::to_string(r.index));
        bytes_of.emplace_back(bytes(g[r].dtype, g[r].shape));
    }
    std::vector<graph::TensorRoom> rooms;
    for (size_t i = 0; i < results.size(); ++i) rooms.push_back({results[i], bytes_of[i]});
    graph::evaluate(g, {}, rooms);
    std::vector<Numbers> all;
    for (const auto& each : bytes_of) all.push_back(graph::decode(each, DType::f64));
    return all;
}

// The text of the Error(code) that `body` throws; a failure and "" when it throws none.
template <typename Body>
std::string error_of(Body&& body, Code code = Code::invalid) {
    try {
        body();
    } catch (const Error& e) {
        EXPECT_EQ(e.code(), code) << e.what();
        EXPECT_NE(std::string(e.what()), "");
        return e.what();
    }
    ADD_FAILURE() << "no error";
    return "";
}

inline std::vector<double> counting(size_t n, double first = 0) {
    std::vector<double> values(n);
    for (size_t i = 0; i < n; ++i) values[i] = first + static_cast<double>(i);
    return values;
}

inline void expect_close(const std::vector<double>& found, const std::vector<double>& wanted, double most = 1e-6) {
    ASSERT_EQ(found.size(), wanted.size());
    for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], wanted[i], most) << "element " << i;
}

}  // namespace backplane
