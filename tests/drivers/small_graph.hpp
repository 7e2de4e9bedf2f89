// A graph of a few kernels, and its result on one device.
#pragma once

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "backplane/spread.hpp"

namespace backplane::drivers {

// Numbers between -1 and 1, the same everywhere.
inline std::vector<float> numbers(size_t count, uint32_t seed) {
    std::vector<float> out(count);
    for (float& value : out) {
        seed = seed * 1664525 + 1013904223;
        value = static_cast<float>(seed >> 8) / static_cast<float>(1 << 23) - 1.0F;
    }
    return out;
}

inline constexpr int64_t kSide = 16;

// A convolution and what follows it, a softmax, a product of matrices.
inline Graph small_graph() {
    Graph g;
    const TensorId x = g.input("x", DType::f32, {1, 3, kSide, kSide});
    const TensorId filters = g.weight("filters", DType::f32, {8, 3, 3, 3});
    const TensorId mix = g.weight("mix", DType::f32, {kSide, 4});
    const TensorId maps = g.add(Op::relu, {g.add(Op::conv, {x, filters}, {{Attr::pads, {1, 1, 1, 1}}})});
    const TensorId rows = g.add(Op::softmax, {maps}, {{Attr::axis, 3}});
    g.output(g.add(Op::matmul, {rows, mix}), "y");
    return g;
}

inline WeightSource small_weights() {
    auto held = std::make_shared<std::map<std::string, std::vector<float>, std::less<>>>();
    (*held)["filters"] = numbers(8 * 3 * 3 * 3, 2);
    (*held)["mix"] = numbers(kSide * 4, 3);
    return [held](std::string_view name) {
        const auto found = held->find(name);
        return found == held->end() ? std::span<const std::byte>() : std::as_bytes(std::span(found->second));
    };
}

struct SmallResult {
    std::vector<float> y;
    ProgramInfo program;
};

inline SmallResult run_small(const Device& device) {
    Session session(device, small_graph(), small_weights());
    const std::vector<float> x = numbers(3 * kSide * kSide, 1);
    SmallResult result{std::vector<float>(8 * kSide * 4), {}};
    for (int round = 0; round < 2; ++round)
        session.run({{{"x", std::as_bytes(std::span(x))}}}, {{{"y", std::as_writable_bytes(std::span(result.y))}}});
    result.program = session.program().info();
    return result;
}

inline float largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
    float most = a.size() == b.size() ? 0.0F : INFINITY;
    for (size_t i = 0; i < a.size() && i < b.size(); ++i) most = std::max(most, std::abs(a[i] - b[i]));
    return most;
}

}  // namespace backplane::drivers
