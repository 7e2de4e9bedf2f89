// Element-wise ops that follow each other are one dispatch, and give what each gives alone, to the bit.
#include "machine.hpp"
#include "small_graph.hpp"

namespace backplane::drivers {
namespace {

// Functions, other operands on both sides, one number, a row and a channel; an operand that is read twice, a value that two ops read, one that
// is a result as well, and more steps than one dispatch has.
Graph chains(DType type) {
    Graph g;
    const TensorId x = g.input("x", type, {2, 3, 5, 7});
    const TensorId same = g.weight("same", type, {2, 3, 5, 7});
    const TensorId row = g.weight("row", type, {7});
    const TensorId channel = g.weight("channel", type, {3, 1, 1});
    const TensorId number = g.weight("number", type, {1});
    TensorId at = g.add(Op::mul, {x, number});
    at = g.add(Op::add, {at, channel});
    at = g.add(Op::gelu, {at});
    at = g.add(Op::sub, {row, at});
    at = g.add(Op::div, {at, same});
    at = g.add(Op::leaky_relu, {at}, {{Attr::alpha, 0.3}});
    const TensorId twice = g.add(Op::max, {at, same});
    at = g.add(Op::mul, {twice, g.add(Op::sigmoid, {twice})});
    g.output(at, "first");
    for (int k = 0; k < 20; ++k) at = g.add(k % 2 == 0 ? Op::mul : Op::add, {at, same});
    at = g.add(Op::tanh, {at});
    // As large as the other operand only from here on.
    const TensorId small = g.add(Op::exp, {g.add(Op::neg, {row})});
    g.output(g.add(Op::min, {g.add(Op::abs, {small}), at}), "second");
    return g;
}

struct Chained {
    std::vector<std::byte> first, second;
    std::string summary;
};

std::vector<std::byte> bytes_of(DType type, size_t count, uint32_t seed) {
    const std::vector<float> values = numbers(count, seed);
    if (type == DType::f32) {
        const auto bytes = std::as_bytes(std::span(values));
        return {bytes.begin(), bytes.end()};
    }
    // Halves between -0.5 and 0.5: a sign, an exponent of 2^-2 or less, any digits.
    std::vector<std::byte> out(2 * count);
    for (size_t i = 0; i < out.size(); ++i) {
        seed = seed * 1664525 + 1013904223;
        out[i] = static_cast<std::byte>(i % 2 == 0 ? seed >> 24 : (seed >> 24 & 0x80) | 0x30 | (seed >> 20 & 7));
    }
    return out;
}

Chained run_chains(const Place& p, const std::string& backend, DType type, const char* how) {
    ContextOptions options = options_for(p);
    options.probe = ProbePolicy::never;
    options.device_filter = only(backend);
    options.cache_folder = p.at("kernels");
    if (*how != '\0') options.options[backend + ".chains"] = how;
    const Context context(options);
    std::map<std::string, std::vector<std::byte>, std::less<>> held;
    held["same"] = bytes_of(type, 210, 2);
    held["row"] = bytes_of(type, 7, 3);
    held["channel"] = bytes_of(type, 3, 4);
    held["number"] = bytes_of(type, 1, 5);
    const WeightSource weights = [&](std::string_view name) { return std::span<const std::byte>(held.find(name)->second); };
    Session session(context.choose(backend + ":0"), chains(type), weights);
    const std::vector<std::byte> x = bytes_of(type, 210, 1);
    Chained result{std::vector<std::byte>(x.size()), std::vector<std::byte>(x.size()), {}};
    session.run({{"x", std::span(x)}}, {{"first", std::span(result.first)}, {"second", std::span(result.second)}});
    result.summary = session.program().info().summary;
    return result;
}

class Chains : public testing::TestWithParam<std::tuple<std::string, DType>> {};
INSTANTIATE_TEST_SUITE_P(All, Chains,
                         testing::Combine(testing::Values("vulkan", "opencl"), testing::Values(DType::f32, DType::f16)),
                         [](const auto& p) {
                             return std::get<0>(p.param) + (std::get<1>(p.param) == DType::f32 ? "InF32" : "InF16");
                         });

TEST_P(Chains, GiveWhatTheirOpsGiveOneByOne) {
    const auto& [backend, type] = GetParam();
    BP_NEEDS(backend, true);
    const Place p;
    set_environment(quiet(p));
    const Chained joined = run_chains(p, backend, type, "on");
    const Chained apart = run_chains(p, backend, type, "off");
    EXPECT_EQ(joined.first, apart.first);
    EXPECT_EQ(joined.second, apart.second);
    // Up to `twice`, the sigmoid with what follows up to the first result, then twice 16 and what is left; the small one.
    EXPECT_NE(joined.summary.find(", 5 dispatches"), std::string::npos) << joined.summary;
    EXPECT_NE(apart.summary.find(", 34 dispatches"), std::string::npos) << apart.summary;
    // A device that runs on the CPU has them where they are asked for.
    const std::string own = run_chains(p, backend, type, "").summary;
    EXPECT_NE(own.find(", 34 dispatches"), std::string::npos) << own;
}

}  // namespace
}  // namespace backplane::drivers
