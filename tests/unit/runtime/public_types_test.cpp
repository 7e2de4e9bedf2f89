// What the public types promise to a compiler, and what a device says of itself through them; threads that an application lends.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <thread>
#include <type_traits>

#include "backplane/runtime.hpp"
#include "support/modules_of_the_build.hpp"

namespace backplane {
namespace {

static_assert(!std::is_convertible_v<Flags<HeapFlag>, Flags<Capability>>, "flags of two kinds do not mix");
static_assert(!std::is_convertible_v<uint64_t, Flags<Capability>>, "a number is no set of flags by itself");
static_assert(!std::is_convertible_v<uint32_t, Math> && !std::is_convertible_v<uint32_t, Why>);
template <typename D>
constexpr bool kShowsItsState = requires(const D& device) {
    device.state();
};
static_assert(!kShowsItsState<Device>, "handles of the library are not the application's");
static_assert(!std::is_constructible_v<Device, std::shared_ptr<Device::State>>);

TEST(PublicTypes, FlagsAreSets) {
    const Flags<Capability> none, both = Flags(Capability::async) | Capability::map;
    EXPECT_TRUE(none.none());
    EXPECT_TRUE(both.has(Capability::map) && both.has(Capability::async) && !both.has(Capability::symbols));
    EXPECT_EQ(both & Capability::map, Flags(Capability::map));
    EXPECT_EQ(both.bits(), uint64_t{BP_CAN_ASYNC | BP_CAN_MAP});
    EXPECT_EQ(Flags<Capability>(uint64_t{1} << 40).bits(), uint64_t{1} << 40) << "what a later version has is kept";
}

TEST(PublicTypes, ADeviceSaysWhatItCanAndHandlesOfItAreEqual) {
    const Context context(test::modules_of_the_build());
    for (const std::string& id : test::devices_of_the_build()) {
        const Device device = context.choose(id);
        EXPECT_TRUE(device == context.choose(id)) << id;
        EXPECT_FALSE(device == Device()) << id;
        if (id != "cpu:0") continue;
        EXPECT_TRUE(device.info().capabilities.has(Capability::async));
        ASSERT_FALSE(device.heaps().empty());
        EXPECT_TRUE(device.heaps()[0].flags.has(HeapFlag::unified));
    }
}

TEST(PublicTypes, WhatADeviceDoesNotDoItSaysInItsOwnWords) {
    const Context context(test::modules_of_the_build());
    Graph g;
    const TensorId x = g.input("x", DType::f64, {1, 3, 5, 7});
    g.output(g.add(Op::grid_sample, {x, g.weight("where", DType::f64, {1, 4, 4, 2})}, {}, "bend"), "y");
    for (const std::string& id : test::devices_of_the_build()) {
        const NodeSupport answer = query(context.choose(id), g).at(0);
        EXPECT_EQ(answer.supported, answer.reason == Why::none) << id;
        EXPECT_EQ(answer.supported, answer.text.empty()) << id << ": " << answer.text;
        if (id != "cpu:0") continue;
        EXPECT_EQ(answer.reason, Why::dtype);
        EXPECT_NE(answer.text.find("bend"), std::string::npos) << answer.text;
        try {
            const Session session(std::vector<Device>{context.choose(id)}, g, Weights());
            ADD_FAILURE() << "the cpu takes no places in f64";
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), Code::unsupported);
            EXPECT_NE(std::string(error.what()).find(answer.text), std::string::npos) << error.what();
        }
    }
}

// An application's pool: `keep` of its pieces are run, on two threads of its own; then it throws, if it does.
struct Pool {
    std::atomic<int> calls{0};
    uint32_t keep = UINT32_MAX;
    bool throws = false;

    [[nodiscard]] ParallelFor lend() {
        return [this](uint32_t n, const std::function<void(uint32_t)>& body) {
            ++calls;
            {
                const auto some = [&](uint32_t first) {
                    for (uint32_t i = first; i < std::min(n, keep); i += 2) body(i);
                };
                const std::jthread one(some, 0), two(some, 1);
            }
            if (throws) throw std::runtime_error("no more threads");
        };
    }
};

bool has_cpu() {
    const std::vector<std::string> ids = test::devices_of_the_build();
    return std::find(ids.begin(), ids.end(), "cpu:0") != ids.end();
}

std::vector<float> product_with(const ParallelFor& parallel) {
    ContextOptions options = test::modules_of_the_build();
    options.parallel = parallel;
    options.options["cpu.threads"] = "4";
    const Context context(options);
    Graph g;
    const TensorId x = g.input("x", DType::f32, {96, 64});
    g.output(g.add(Op::matmul, {x, g.weight("w", DType::f32, {64, 80})}), "y");
    std::vector<float> w(64 * 80), in(96 * 64), out(96 * 80);
    for (size_t i = 0; i < w.size(); ++i) w[i] = static_cast<float>(i % 13) - 6;
    for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i % 7) - 3;
    Session session(context.choose("cpu"), g, [&](std::string_view) { return std::as_bytes(std::span(w)); });
    session.run({{"x", std::as_bytes(std::span(in))}}, {{"y", std::as_writable_bytes(std::span(out))}});
    return out;
}

TEST(LentThreads, TheCpuComputesOnTheApplicationsThreadsAndGivesTheSame) {
    if (!has_cpu()) GTEST_SKIP() << "this build has no cpu module";
    const std::vector<float> expected = product_with(nullptr);
    Pool pool;
    EXPECT_EQ(product_with(pool.lend()), expected);
    EXPECT_GT(pool.calls, 0);
}

TEST(LentThreads, WhatAPoolLeavesUndoneOrThrowsIsDoneAllTheSame) {
    if (!has_cpu()) GTEST_SKIP() << "this build has no cpu module";
    const std::vector<float> expected = product_with(nullptr);
    for (const uint32_t keep : {0U, 1U}) {
        Pool pool;
        pool.keep = keep;
        EXPECT_EQ(product_with(pool.lend()), expected) << keep;
        pool.throws = true;
        EXPECT_EQ(product_with(pool.lend()), expected) << keep << ", and it throws";
        EXPECT_GT(pool.calls, 1);
    }
}

}  // namespace
}  // namespace backplane
