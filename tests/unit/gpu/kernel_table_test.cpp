// Kernels made once, several at a time, and the threads that make them.
#include "common/gpu/kernel_table.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "common/gpu/parallel.hpp"

namespace backplane::gpu {
namespace {

const backend::Host kAlone(nullptr);

// Dispatches of these kernels, and the list that is handed over.
struct Dispatches {
    explicit Dispatches(const std::vector<uint32_t>& kernels) {
        for (const uint32_t kernel : kernels) {
            all.emplace_back();
            all.back().kernel = kernel;
            all.back().constants = {64, kernel};
        }
        for (const Dispatch& d : all) list.push_back(&d);
    }
    std::vector<Dispatch> all;
    std::vector<const Dispatch*> list;
};

TEST(KernelTable, WhoeverAsksForOneThatIsBeingMadeWaitsForIt) {
    KernelTable<int> table;
    std::atomic<int> made{0};
    std::vector<int> got(8);
    in_parallel(kAlone, 8, [&](uint32_t i) {
        got[i] = table.get(1, {64}, [&] {
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            return ++made;
        });
    });
    EXPECT_EQ(made, 1);
    EXPECT_EQ(got, std::vector<int>(8, 1));
}

TEST(KernelTable, ConstantsMakeAnotherKernel) {
    KernelTable<int> table;
    EXPECT_EQ(table.get(1, {64}, [] { return 5; }), 5);
    EXPECT_EQ(table.get(1, {64, 0}, [] { return 6; }), 6);
    EXPECT_EQ(table.get(2, {64}, [] { return 7; }), 7);
    EXPECT_EQ(table.get(1, {64}, [] { return 8; }), 5);
}

TEST(KernelTable, NothingIsKeptOfOneThatFailed) {
    KernelTable<int> table;
    EXPECT_THROW(table.get(1, {}, []() -> int { throw std::runtime_error("no"); }), std::runtime_error);
    EXPECT_EQ(table.get(1, {}, [] { return 3; }), 3);
}

TEST(BuildAhead, EachKernelOnceAndCopiesNotAtAll) {
    std::mutex mutex;
    std::multiset<uint32_t> built;
    build_ahead(Dispatches({1, 2, kNoKernel, 1, 3, 2}).list, kAlone, nullptr, [&](const Dispatch& d) {
        const std::lock_guard lock(mutex);
        built.insert(d.kernel);
    });
    if (std::thread::hardware_concurrency() > 1) {
        EXPECT_EQ(built, (std::multiset<uint32_t>{1, 2, 3}));
    }
}

TEST(BuildAhead, OneThatFailsIsLeftToWhoeverAsksNext) {
    std::atomic<int> begun{0};
    EXPECT_NO_THROW(build_ahead(Dispatches({1, 2, 3, 4}).list, kAlone, nullptr, [&](const Dispatch& d) {
        ++begun;
        if (d.kernel == 2) throw sdk::Failure(BP_UNSUPPORTED, "the compiler says no");
    }));
    if (std::thread::hardware_concurrency() > 1) {
        EXPECT_EQ(begun, 4);
    }
}

TEST(BuildAhead, NothingIsBegunOnceTheFlagIsRaised) {
    const volatile uint32_t cancel = 1;
    build_ahead(Dispatches({1, 2, 3, 4}).list, kAlone, &cancel, [](const Dispatch&) { ADD_FAILURE() << "begun"; });
}

TEST(InParallel, ThrowsWhatTheFirstByNumberThrewWhenAllHaveEnded) {
    std::atomic<int> ended{0};
    try {
        in_parallel(kAlone, 6, [&](uint32_t i) {
            if (i == 2) std::this_thread::sleep_for(std::chrono::milliseconds(20));
            ++ended;
            if (i >= 2) throw std::runtime_error(std::to_string(i));
        });
        FAIL() << "it throws";
    } catch (const std::runtime_error& e) {
        EXPECT_STREQ(e.what(), "2");
    }
    EXPECT_EQ(ended, 6);
}

TEST(InParallel, TheHostsThreadsAreUsedWhereItLendsThem) {
    bp_host host{};
    host.struct_size = BP_SIZE(bp_host, parallel);
    int calls = 0;
    host.self = &calls;
    host.parallel = [](void* self, uint32_t n, void (*body)(void*, uint32_t), void* arg) {
        ++*static_cast<int*>(self);
        for (uint32_t i = n; i-- > 0;) body(arg, i);  // in any order
    };
    std::vector<std::thread::id> who(3);
    in_parallel(backend::Host(&host), 3, [&](uint32_t i) { who[i] = std::this_thread::get_id(); });
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(who, std::vector<std::thread::id>(3, std::this_thread::get_id()));
}

}  // namespace
}  // namespace backplane::gpu
