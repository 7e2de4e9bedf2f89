// Rows of products over several devices: what they make together is what one makes, within the bound; what crosses is the sums; a lost device's part
// is done by the others.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "backplane/ops.hpp"
#include "backplane/runtime.hpp"
#include "graph/element_types.hpp"
#include "runtime/rows.hpp"
#include "support/modules_of_the_build.hpp"

namespace backplane::rows_of_products {
namespace {

using Floats = std::vector<float>;
std::span<const std::byte> given(const Floats& values) { return std::as_bytes(std::span(values)); }
std::span<std::byte> room(Floats& values) { return std::as_writable_bytes(std::span(values)); }

Floats numbers(int64_t count, int seed) {
    Floats all(static_cast<size_t>(count));
    for (size_t i = 0; i < all.size(); ++i)
        all[i] = std::sin(static_cast<float>(i * 7 + static_cast<size_t>(seed) * 31)) / 2;
    return all;
}

constexpr int64_t kFrames = 6, kWidth = 32, kHeads = 4, kWide = 64, kReach = 8;

// An encoder's layer as speech networks have it: products by one matrix for queries, keys and values, attention with relative positions, a gate, a
// depthwise convolution over time, and a feed-forward network; then a product that ends in the output.
class Network {
public:
    explicit Network(int layers) {
        TensorId x = g_.input("x", DType::f32, {1, kFrames, kWidth});
        const TensorId lengths = g_.input("lengths", DType::i32, {1});
        for (int k = 0; k < layers; ++k) {
            name_ = std::to_string(k);
            x = ops::add(g_, linear(ops::silu(g_, linear(norm(x), "up", kWidth, kWide)), "down", kWide, kWidth), x);
            x = attended(x, lengths);
            x = convolved(x);
        }
        name_ = "head";
        g_.output(linear(x, "", kWidth, 10), "y");
    }
    [[nodiscard]] const Graph& graph() const { return g_; }
    [[nodiscard]] const Floats& weight(std::string_view name) const { return weights_.at(std::string(name)); }
    [[nodiscard]] Weights weights() const {
        return Weights([this](std::string_view name) { return given(weight(name)); });
    }

private:
    TensorId weight(const std::string& name, const Shape& shape) {
        const std::string full = name_ + name;
        weights_[full] = numbers(elements(shape), static_cast<int>(weights_.size()));
        return g_.weight(full, DType::f32, shape);
    }
    TensorId linear(TensorId x, const std::string& name, int64_t in, int64_t out) {
        return ops::add(g_, ops::matmul(g_, x, weight(name + ".w", {out, in}), {.transpose_b = true}),
                        weight(name + ".b", {out}));
    }
    TensorId norm(TensorId x) { return ops::layer_norm(g_, x, weight(".norm" + std::to_string(norms_++), {kWidth})); }
    TensorId heads_of(TensorId x) {
        const TensorId split = ops::reshape(g_, x, {.shape = {1, kFrames, kHeads, kWidth / kHeads}});
        return ops::transpose(g_, split, {.perm = {0, 2, 1, 3}});
    }
    TensorId attended(TensorId x, TensorId lengths) {
        const std::vector<TensorId> qkv =
            ops::split(g_, linear(norm(x), "qkv", kWidth, 3 * kWidth), {.axis = 2, .sizes = {kWidth, kWidth, kWidth}});
        const TensorId positions = g_.input("positions" + name_, DType::f32, {kHeads, 2 * kReach - 1, kWidth / kHeads});
        const TensorId y =
            ops::attention(g_,
                           {heads_of(qkv[0]), heads_of(qkv[1]), heads_of(qkv[2]), no_tensor, lengths, positions,
                            weight("u", {kHeads, kWidth / kHeads}), weight("v", {kHeads, kWidth / kHeads})},
                           {.padded = true});
        const TensorId rows =
            ops::reshape(g_, ops::transpose(g_, y, {.perm = {0, 2, 1, 3}}), {.shape = {1, kFrames, kWidth}});
        return ops::add(g_, linear(rows, "out", kWidth, kWidth), x);
    }
    TensorId convolved(TensorId x) {
        const std::vector<TensorId> halves =
            ops::split(g_, linear(norm(x), "gate", kWidth, 2 * kWidth), {.axis = 2, .sizes = {kWidth, kWidth}});
        TensorId y = ops::mul(g_, halves[0], ops::sigmoid(g_, halves[1]));
        y = ops::transpose(g_, ops::reshape(g_, y, {.shape = {1, kFrames, 1, kWidth}}), {.perm = {0, 3, 1, 2}});
        y = ops::conv(g_, y, weight("taps", {kWidth, 1, 3, 1}), weight("taps.b", {kWidth}),
                      {.pads = {1, 0, 1, 0}, .group = kWidth});
        y = ops::reshape(g_, ops::transpose(g_, y, {.perm = {0, 2, 3, 1}}), {.shape = {1, kFrames, kWidth}});
        return ops::add(g_, linear(ops::silu(g_, y), "point", kWidth, kWidth), x);
    }

    Graph g_;
    std::map<std::string, Floats> weights_;
    std::string name_;
    int norms_ = 0;
};

Device device(const char* filter, const char* lose_after = nullptr) {
    ContextOptions options = test::modules_of_the_build();
    if (lose_after != nullptr) options.options["cpu.lose-after"] = lose_after;
    return Context(options).choose(filter);
}

constexpr int kLayers = 2;
const Floats& positions(int layer) {
    static const std::vector<Floats> all = {numbers(kHeads * (2 * kReach - 1) * kWidth / kHeads, 70),
                                            numbers(kHeads * (2 * kReach - 1) * kWidth / kHeads, 71)};
    return all[static_cast<size_t>(layer)];
}

Floats run(Session& session, uint32_t rows, int seed = 90) {
    const Floats x = numbers(kFrames * kWidth, seed);
    const std::vector<int32_t> lengths{kFrames - 1};
    std::vector<std::string> names;
    std::vector<Input> inputs{{"x", given(x)}, {"lengths", std::as_bytes(std::span(lengths))}};
    for (int k = 0; k < kLayers; ++k)
        for (uint32_t part = 0; part < rows; ++part) {
            const std::string whole = "positions" + std::to_string(k);
            names.push_back(rows == 1 ? whole : row_input(whole, part, rows));
        }
    auto name = names.begin();
    for (int k = 0; k < kLayers; ++k)
        for (uint32_t part = 0; part < rows; ++part) {
            const auto all = given(positions(k));
            const size_t bytes = all.size() / rows;
            inputs.emplace_back(*name++, all.subspan(part * bytes, bytes));
        }
    Floats y(kFrames * 10);
    const Output output("y", room(y));
    session.run(inputs, std::span(&output, 1));
    return y;
}

void expect_near(const Floats& got, const Floats& want) {
    for (size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(got[i], want[i], 2e-4F * (1 + std::abs(want[i]))) << i;
}

class Rows : public testing::Test {
protected:
    Network network{kLayers};
    Floats one() {
        Session session(std::vector{device("cpu")}, network.graph(), network.weights());
        return run(session, 1);
    }
};

TEST_F(Rows, OfTwoAndFourDevicesAreWhatOneMakes) {
    const Floats want = one();
    for (const uint32_t rows : {2U, 4U}) {
        std::vector<Device> devices;
        for (uint32_t k = 0; k < rows; ++k) devices.push_back(device("cpu"));
        Session session(devices, network.graph(), network.weights(), {.rows = rows});
        expect_near(run(session, rows), want);
        expect_near(run(session, rows), want);
        // Between two of the three sums of a layer each device has a stage; what follows the last the first device does alone.
        const std::vector<StageRuns> runs = session.runs();
        EXPECT_EQ(runs.size(), 3 * kLayers * rows + 1) << session.describe();
        for (const StageRuns& stage : runs) EXPECT_EQ(stage.runs, 2U);
    }
}

// Nodes placed one by one: by turns, so that each value crosses.
TEST_F(Rows, NodesOnDevicesOneByOneAreWhatOneMakes) {
    SessionOptions options;
    for (size_t n = 0; n < network.graph().nodes().size(); ++n) options.device_of.push_back(n / 3 % 2);
    const std::vector<Device> devices{device("cpu"), device("reference")};
    Session session(devices, network.graph(), network.weights(), options);
    expect_near(run(session, 1), one());
    std::map<std::string, size_t> nodes;
    for (const StageRuns& stage : session.runs()) nodes[stage.device] += stage.nodes;
    const auto second = static_cast<size_t>(std::ranges::count(options.device_of, 1U));
    EXPECT_EQ(nodes["reference:0"], second) << session.describe();
    EXPECT_EQ(nodes["cpu:0"], options.device_of.size() - second);

    const auto refused = [&](const SessionOptions& wrong, const std::vector<Device>& on, Code code) {
        try {
            Session made(on, network.graph(), network.weights(), wrong);
            ADD_FAILURE() << "it was made";
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), code) << error.what();
        }
    };
    refused(options, {devices[0]}, Code::invalid);
    SessionOptions wrong = options;
    wrong.budget = 1 << 20;
    refused(wrong, devices, Code::invalid);
    wrong = options;
    wrong.rows = 2;
    refused(wrong, devices, Code::invalid);
    wrong = options;
    wrong.device_of.pop_back();
    refused(wrong, devices, Code::invalid);
    Graph state;
    const TensorId sum = state.state("s", DType::f32, {4});
    state.update(sum, ops::add(state, sum, state.constant(1)));
    EXPECT_THROW(Session(devices, state, network.weights(), {.device_of = {0}}), Error);
}

// What an encoder begins with: two stretches of a sound that are made into features apart, and convolutions of which the last is of single pixels.
class Beginning {
public:
    Beginning() {
        const TensorId x = g_.input("x", DType::f32, {1, 2, 8, 8});
        std::vector<TensorId> halves;
        for (int64_t part = 0; part < 2; ++part) {
            TensorId y = ops::slice(g_, x, {.starts = {0, 0, 2 * part, 0}, .ends = {1, 2, 4 * part + 4, 8}});
            if (part == 1)
                y = ops::slice(g_, y, {.starts = {0, 0, 2, 0}, .ends = {1, 2, 6, 8}});  // as what is not the first
            for (int k = 0; k < 8; ++k) y = ops::sin(g_, ops::add(g_, y, g_.constant(0.5F)));
            halves.push_back(y);
        }
        TensorId y = ops::concat(g_, halves, {.axis = 2});
        y = ops::relu(g_, conv("first", y, {16, 2, 3, 3}, 1, 1));
        y = ops::mul(g_, y,
                     g_.constant("", DType::f32, {1, 1, 8, 1},
                                 graph::encode(std::vector<double>{1, 1, 1, 1, 1, 1, 0, 0}, DType::f32)));
        y = conv("taps", y, {16, 1, 3, 3}, 1, 16);
        g_.output(ops::relu(g_, conv("point", y, {6, 16, 1, 1}, 0, 1)), "y");
    }
    [[nodiscard]] const Graph& graph() const { return g_; }
    [[nodiscard]] Weights weights() const {
        return Weights([this](std::string_view name) { return given(weights_.at(std::string(name))); });
    }

private:
    TensorId conv(const std::string& name, TensorId x, const Shape& shape, int64_t pad, int64_t group) {
        weights_[name] = numbers(elements(shape), static_cast<int>(weights_.size()));
        weights_[name + ".b"] = numbers(shape[0], static_cast<int>(weights_.size()));
        return ops::conv(g_, x, g_.weight(name, DType::f32, shape), g_.weight(name + ".b", DType::f32, {shape[0]}),
                         {.pads = {pad, pad, pad, pad}, .group = group});
    }
    Graph g_;
    std::map<std::string, Floats> weights_;
};

TEST(RowsOfABeginning, HaveItsBranchesApartAndItsConvolutionsByChannels) {
    const Beginning beginning;
    const Floats x = numbers(2 * 8 * 8, 5);
    const auto run_on = [&](const std::vector<Device>& devices, uint32_t rows) {
        Session session(devices, beginning.graph(), beginning.weights(), {.rows = rows});
        Floats y(6 * 8 * 8);
        const Output output("y", room(y));
        const Input input("x", given(x));
        session.run(std::span(&input, 1), std::span(&output, 1));
        return y;
    };
    const Floats want = run_on({device("cpu")}, 1);
    expect_near(run_on({device("cpu"), device("cpu")}, 2), want);
    expect_near(run_on({device("cpu"), device("reference")}, 2), want);
    const runtime::RowGraph rows = runtime::row_graph(beginning.graph(), 2);
    EXPECT_EQ(rows.products, 2U);
    EXPECT_EQ(rows.slices.size(), 2U * 5) << "of the last one's bias nobody has a part";
    std::map<uint32_t, int> sines;  // by device
    for (size_t n = 0; n < rows.graph.nodes().size(); ++n)
        if (rows.graph.nodes()[n].op == Op::sin) ++sines[rows.device_of[n]];
    EXPECT_EQ(sines, (std::map<uint32_t, int>{{0, 8}, {1, 8}})) << "each device has a branch";
}

// As a speech network begins with 200 s and 40 s of sound: 256 channels, of which the sum would be 51 MB and 10 MB.
TEST(RowsOfABeginning, AreNotOfConvolutionsWhoseSumWouldTakeLongerThanTheyDo) {
    for (const int64_t frames : {20000, 4000}) {
        Graph g;
        const auto conv = [&](const char* name, TensorId x, const Shape& weights, int64_t pad, int64_t stride,
                              int64_t group) {
            return ops::conv(g, x, g.weight(name, DType::f16, weights), no_tensor,
                             {.strides = {stride, stride}, .pads = {pad, pad, pad, pad}, .group = group});
        };
        const TensorId x = g.input("x", DType::f16, {1, 1, frames, 80});
        const TensorId taps = conv("taps", conv("first", x, {256, 1, 3, 3}, 1, 2, 1), {256, 1, 3, 3}, 1, 2, 256);
        g.output(ops::relu(g, conv("point", taps, {256, 256, 1, 1}, 0, 1, 1)), "y");
        if (frames == 4000)
            EXPECT_EQ(runtime::row_graph(g, 2).products, 2U);
        else
            EXPECT_THROW(static_cast<void>(runtime::row_graph(g, 2)), Error) << "there is nothing else to split";
    }
}

TEST_F(Rows, OfDevicesThatComputeInTheirOwnWayAreWithinTheBound) {
    const Floats want = one();
    for (const char* other : {"reference", "opencl", "vulkan"}) {
        Device second;
        try {
            second = device(other);
        } catch (const Error&) {
            continue;  // it is not in this build
        }
        Session session({device("cpu"), second}, network.graph(), network.weights(), {.rows = 2});
        expect_near(run(session, 2), want);
    }
}

TEST_F(Rows, OfALostDeviceAreDoneByTheOther) {
    const Floats want = one();
    for (const char* after : {"1", "3", "6"})
        for (const size_t lost : {0U, 1U}) {
            Session session({device("cpu", lost == 0 ? after : nullptr), device("cpu", lost == 1 ? after : nullptr)},
                            network.graph(), network.weights(), {.rows = 2});
            expect_near(run(session, 2), want);
            expect_near(run(session, 2), want);
            EXPECT_FALSE(session.notes().empty()) << after;
        }
}

TEST_F(Rows, EachDeviceHasItsPartOfTheWeightsAndSessionsShareIt) {
    const std::vector<Device> devices{device("cpu"), device("cpu")};
    const Weights weights = network.weights();
    Session session(devices, network.graph(), weights, {.rows = 2});
    const runtime::RowGraph rows = runtime::row_graph(network.graph(), 2);
    EXPECT_EQ(rows.products, 6U * kLayers) << "the head's columns come to no product";
    uint64_t sliced = 0;
    for (const auto& [name, slice] : rows.slices) {
        sliced += bytes(slice.dtype, slice.shape) / slice.parts;
        std::vector<std::byte> own;
        const auto part = runtime::bytes_of(slice, given(network.weight(slice.of)), own);
        EXPECT_EQ(part.size(), bytes(slice.dtype, slice.shape) / slice.parts) << name;
    }
    uint64_t whole = 0;
    for (const TensorInfo& tensor : network.graph().tensors())
        if (tensor.role == Role::weight) whole += bytes(tensor.dtype, tensor.shape);
    EXPECT_GT(sliced, whole * 3 / 4) << "of both devices together";
    // Each has its own part and what is not split: of the ledger, since these weights are those of the sessions.
    const auto held = [&](size_t k) { return ledger(devices[k]).held; };
    const uint64_t first = held(0), second = held(1);
    const Session again(devices, network.graph(), weights, {.rows = 2});
    EXPECT_LT(held(0), first + sliced / 4) << "its weights are there already";
    EXPECT_LT(held(1), second + sliced / 4);
}

TEST(RowSlices, AreTheRightBytes) {
    const Floats whole = numbers(4 * 6, 1);  // [4, 6]
    std::vector<std::byte> own;
    const auto floats = [](std::span<const std::byte> bytes) {
        const auto* first = reinterpret_cast<const float*>(bytes.data());
        return Floats(first, first + bytes.size() / sizeof(float));
    };
    runtime::RowSlice slice{"w", DType::f32, {4, 6}, 0, {4}, 1, 2};
    EXPECT_EQ(runtime::bytes_of(slice, given(whole), own).data(), given(whole).data() + 12 * sizeof(float)) << "no copy";
    slice.segments = {2, 2};
    EXPECT_EQ(floats(runtime::bytes_of(slice, given(whole), own)),
              (Floats{whole[6], whole[7], whole[8], whole[9], whole[10], whole[11], whole[18], whole[19], whole[20],
                      whole[21], whole[22], whole[23]}));
    own.clear();
    slice.axis = 1;
    slice.segments = {2, 4};
    EXPECT_EQ(floats(runtime::bytes_of(slice, given(whole), own)),
              (Floats{whole[1], whole[4], whole[5], whole[7], whole[10], whole[11], whole[13], whole[16], whole[17],
                      whole[19], whole[22], whole[23]}));
    EXPECT_THROW(static_cast<void>(runtime::bytes_of(slice, given(Floats(3)), own)), Error);
}

TEST_F(Rows, WhatCannotBeIsSaid) {
    const auto code_of = [&](const Graph& graph, const std::vector<Device>& devices, const SessionOptions& options) {
        try {
            const Session session(devices, graph, network.weights(), options);
        } catch (const Error& error) {
            return error.code();
        }
        return Code::ok;
    };
    const std::vector<Device> two{device("cpu"), device("cpu")};
    EXPECT_EQ(code_of(network.graph(), {two[0]}, {.rows = 2}), Code::invalid);
    EXPECT_EQ(code_of(network.graph(), two, {.budget = 1U << 20, .rows = 2}), Code::invalid);
    Graph none;
    none.output(ops::relu(none, none.input("x", DType::f32, {4})), "y");
    EXPECT_EQ(code_of(none, two, {.rows = 2}), Code::unsupported);
    Graph state;
    const TensorId s = state.state("s", DType::f32, {1});
    state.update(s, ops::add(state, s, s));
    EXPECT_EQ(code_of(state, two, {.rows = 2}), Code::unsupported);
    // An odd number of columns is left whole, and goes on being right.
    Graph odd;
    const TensorId x = odd.input("x", DType::f32, {2, 4});
    const TensorId up = ops::matmul(odd, x, odd.weight("a", DType::f32, {4, 3}));
    odd.output(ops::matmul(odd, up, odd.weight("b", DType::f32, {3, 4})), "y");
    EXPECT_EQ(code_of(odd, two, {.rows = 2}), Code::unsupported);
}

}  // namespace
}  // namespace backplane::rows_of_products
