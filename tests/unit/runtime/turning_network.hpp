// A network of which every weight matters and whose results are known to the bit, for tests of where weights are.
#pragma once

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <vector>

#include "backplane/ops.hpp"
#include "backplane/runtime.hpp"

namespace backplane::test {

// Products one after the other: once and twice the identity in turns, so that 4096 times the input comes out.
class TurningNetwork {
public:
    static constexpr int64_t kLayers = 24, kWidth = 256;  // 256 KiB each

    TurningNetwork() : memory_(kLayers * kWidth * kWidth + 32, 0.0F) {
        // Nowhere a device would use it in place.
        while (reinterpret_cast<uintptr_t>(&memory_[first_]) % 64 != 4) ++first_;
        TensorId at = graph.input("x", DType::f32, {4, kWidth});
        for (int64_t k = 0; k < kLayers; ++k)
            at = graph.add(Op::matmul, {at, graph.weight("w " + std::to_string(k), DType::f32, {kWidth, kWidth})});
        graph.output(at, "y");
        for (size_t k = 0; k < kLayers; ++k)
            for (size_t i = 0; i < kWidth; ++i) layer(k)[i * kWidth + i] = static_cast<float>(1 + k % 2);
    }
    TurningNetwork(const TurningNetwork&) = delete;
    TurningNetwork& operator=(const TurningNetwork&) = delete;

    WeightSource source() {
        return [this](std::string_view name) { return std::as_bytes(layer(std::stoul(std::string(name.substr(2))))); };
    }
    static void run(Session& session, float x) {
        const std::vector<float> given(4 * kWidth, x);
        std::vector<float> y(given.size());
        session.run({{"x", std::as_bytes(std::span(given))}}, {{"y", std::as_writable_bytes(std::span(y))}});
        EXPECT_EQ(y, std::vector<float>(y.size(), x * 4096));
    }

    Graph graph;

private:
    std::span<float> layer(size_t k) { return std::span(memory_).subspan(first_ + k * kWidth * kWidth, kWidth * kWidth); }

    std::vector<float> memory_;
    size_t first_ = 0;
};

}  // namespace backplane::test
