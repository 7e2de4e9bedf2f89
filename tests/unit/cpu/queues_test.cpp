// The host's threads, options that are set while a run is on, and the bookkeeping of points that all backends share.
#include <gtest/gtest.h>

#include <atomic>

#include "common/timeline.hpp"
#include "harness.hpp"
#include "thread_pool.hpp"

using namespace harness;
using backplane::backend::Outcome;
using backplane::backend::Timeline;

namespace {

std::atomic<int> lent{0};

// A graph that is worth several threads.
struct Large : Graph {
    Large() {
        const uint32_t x = input({1 << 18}, random_floats(1 << 18, 1));
        y = add(BP_OP_gelu, {x}, {1 << 18});
        output(y);
    }
    uint32_t y;
};

}  // namespace

TEST(HostThreads, AreUsedWhenTheHostLendsThemAndChangeNothing) {
    Large g;
    Device own({"", "4", nullptr});
    Program alone(own, g);
    alone.run();
    lent = 0;
    Device borrowing({"", "4", [](void*, uint32_t n, void (*body)(void*, uint32_t), void* arg) {
                          ++lent;
                          for (uint32_t i = 0; i < n; ++i) body(arg, i);
                      }});
    Program program(borrowing, g);
    program.run();
    EXPECT_GT(lent.load(), 0);
    EXPECT_EQ(program.read(g.y), alone.read(g.y));
}

TEST(HostThreads, TheNumberOfThreadsMayBeSetWhileARunIsOn) {
    Large g;
    Device device({"", "2", nullptr});
    Program program(device, g);
    program.run();
    const Floats expected = program.read(g.y);
    bp_fence* fence = nullptr;
    Check check;
    check(device.api->fence_create(device.device, &fence, check));
    for (uint64_t i = 1; i <= 100; ++i) {
        program.run({fence, i});
        bp_option option{};
        option.struct_size = sizeof option;
        option.type = BP_OPTION_INT;
        option.name = "threads";
        option.integer = static_cast<int64_t>(1 + i % 4);
        check(device.api->option_set(device.device, &option, check));
    }
    check(device.api->fence_wait(fence, 100, UINT64_MAX, check));
    device.api->fence_close(fence);
    EXPECT_EQ(program.read(g.y), expected);
}

TEST(Threads, TakeEachChunkOnceWhateverTheNumbersOfBoth) {
    bp_host table{};
    table.struct_size = sizeof table;
    table.abi = BP_ABI;
    const backplane::backend::Host own(&table);
    // The last lane first, and all of them on one thread: it takes what the others would have begun with.
    table.parallel = [](void*, uint32_t n, void (*body)(void*, uint32_t), void* arg) {
        while (n > 0) body(arg, --n);
    };
    const backplane::backend::Host lends(&table);
    for (const auto* host : {&own, &lends})
        for (const uint32_t threads : {1U, 2U, 3U, 16U}) {
            backplane::cpu::ThreadPool pool(*host, threads);
            pool.begin(64);
            for (const uint32_t chunks : {0U, 1U, 2U, 5U, 16U, 17U, 100U}) {
                std::vector<std::atomic<int>> times(chunks);
                pool.run(chunks, [&](uint32_t chunk, std::byte*) { ++times[chunk]; });
                for (uint32_t i = 0; i < chunks; ++i)
                    EXPECT_EQ(times[i], 1) << threads << " threads, " << i << " of " << chunks;
            }
        }
}

TEST(TimelineOfAFence, EachPointHasItsOwnOutcome) {
    Timeline timeline;
    for (uint64_t value : {2, 5, 6, 9, 10}) timeline.submit(0, value);
    timeline.reach(2);
    timeline.reach(5, {BP_CANCELLED, "stopped"});
    timeline.reach(6, {BP_CANCELLED, "stopped"});
    timeline.reach(9);
    EXPECT_FALSE(timeline.reached(10));
    timeline.end({BP_DEVICE_LOST, "gone"});
    const bp_code expected[] = {BP_OK,        BP_OK, BP_OK, BP_CANCELLED, BP_CANCELLED,  BP_CANCELLED,
                                BP_CANCELLED, BP_OK, BP_OK, BP_OK,        BP_DEVICE_LOST};
    for (uint64_t value = 0; value <= 10; ++value) EXPECT_EQ(timeline.outcome(value).code, expected[value]) << value;
    EXPECT_EQ(timeline.outcome(4).text, "stopped");
    EXPECT_THROW(timeline.answer(10), backplane::sdk::Failure);
    EXPECT_NO_THROW(timeline.answer(9));
}

TEST(TimelineOfAFence, IsOfOneQueueAndGrows) {
    Timeline timeline;
    EXPECT_NO_THROW(timeline.check_signal("run", 3, 1));
    EXPECT_THROW(timeline.check_signal("run", 3, 0), backplane::sdk::Failure);
    timeline.submit(3, 7);
    EXPECT_NO_THROW(timeline.check_signal("run", 3, 8));
    EXPECT_THROW(timeline.check_signal("run", 3, 7), backplane::sdk::Failure);
    EXPECT_THROW(timeline.check_signal("run", 2, 8), backplane::sdk::Failure);
    EXPECT_NO_THROW(timeline.check_submitted("run", 7));
    EXPECT_THROW(timeline.check_submitted("run", 8), backplane::sdk::Failure);
}
