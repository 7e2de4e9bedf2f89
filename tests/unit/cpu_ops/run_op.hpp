// One op on the cpu backend, run through the module ABI.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "unit/cpu/harness.hpp"

namespace harness {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// An operand: its bytes, type and dimensions.
struct Operand {
    Dims dims;
    std::vector<std::byte> bytes;
    uint32_t dtype = BP_F32;
};

template <typename T>
Operand operand(Dims dims, const std::vector<T>& data, uint32_t dtype = BP_F32) {
    Operand o{std::move(dims), std::vector<std::byte>(data.size() * sizeof(T)), dtype};
    if (!data.empty()) std::memcpy(o.bytes.data(), data.data(), o.bytes.size());
    return o;
}

template <typename T = float>
std::vector<T> run_op(const Options& options, uint32_t op, const std::vector<Operand>& operands, Dims out,
                      std::vector<Attribute> attributes = {}, uint32_t dtype = BP_F32) {
    Device device(options);
    Graph g;
    std::vector<uint32_t> inputs;
    for (const Operand& o : operands) inputs.push_back(g.bound_bytes(BP_ROLE_INPUT, o.dims, o.dtype, o.bytes));
    const uint32_t y = g.add(op, inputs, std::move(out), std::move(attributes), dtype);
    g.output(y);
    Program p(device, g);
    p.run();
    return p.read<T>(y);
}

// Equal, both NaN, or within a relative and an absolute bound.
inline bool same(double got, double want, double relative, double absolute) {
    if (std::isnan(got) || std::isnan(want)) return std::isnan(got) && std::isnan(want);
    return got == want || std::fabs(got - want) <= absolute + relative * std::fabs(want);
}

class PerLevel : public testing::TestWithParam<std::string> {
protected:
    [[nodiscard]] Options options(const char* threads = "3") const { return {GetParam(), threads}; }
};

}  // namespace harness
