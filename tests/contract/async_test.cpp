// Module promises A1 to A11 and A18: queues, points, cancellation, of devices that state BP_CAN_ASYNC. No test asserts a time.
#include <atomic>
#include <memory>
#include <thread>

#include "contract/async.hpp"

namespace contract {
namespace {

using Floats = std::vector<float>;

TEST_P(Async, A1_CallsOnOneQueueTakeEffectInOrderWaitedForOrNot) {
    bp_program* step = compile(step_graph(4).get());
    bp_buffer* k[2] = {buffer(Floats(4, 7)), buffer(Floats(4, 100))};
    bp_buffer* s[2] = {buffer({0, 1, 2, 3}), buffer_of(16)};
    bp_fence* f = fence();
    Floats expected{0, 1, 2, 3};
    for (uint64_t i = 0; i < 64; ++i) {
        const std::vector<bp_binding> bindings{bind(0, k[i % 3 == 0], 16), bind(1, s[i % 2], 16), bind(3, s[1 - i % 2], 16)};
        ASSERT_EQ(submit(step, bindings, {.signal = {f, i + 1}}), BP_OK) << error.text;
        for (float& v : expected) v = std::max(0.0F, (i % 3 == 0 ? 100.0F : 7.0F) - v);
    }
    // A plain call comes behind all of them.
    EXPECT_EQ(read(s[0], 4), expected);
    EXPECT_EQ(wait({f, 64}, 0), BP_OK) << error.text;
}

TEST_P(Async, A2_AcrossQueuesPointsOrder) {
    constexpr uint64_t kRounds = 200;
    bp_program* program = compile(sum_graph(4).get());
    bp_buffer* x = buffer_of(16);
    bp_buffer* b = buffer({1, 1, 1, 1});
    bp_buffer* y = buffer_of(16);
    bp_fence *uploaded = fence(), *ran = fence(), *downloaded = fence();
    std::vector<Floats> in, out(kRounds, Floats(4, -1));
    for (uint64_t i = 0; i < kRounds; ++i) in.push_back({1.0F * static_cast<float>(i), 2, -9, 3.0F * static_cast<float>(i)});
    for (uint64_t i = 0; i < kRounds; ++i) {
        Order first{.queue = up(), .signal = {uploaded, i + 1}};
        if (i > 0) first.wait = {{ran, i}};  // the run before has read the input
        ASSERT_EQ(upload(x, in[i].data(), 16, first), BP_OK) << error.text;
        Order then{.wait = {{uploaded, i + 1}}, .signal = {ran, i + 1}};
        if (i > 0) then.wait.push_back({downloaded, i});  // the output before is fetched
        ASSERT_EQ(submit(program, {bind(0, x, 16), bind(1, b, 16), bind(3, y, 16)}, then), BP_OK) << error.text;
        ASSERT_EQ(download(out[i].data(), y, 16, {.queue = down(), .wait = {{ran, i + 1}}, .signal = {downloaded, i + 1}}),
                  BP_OK)
            << error.text;
    }
    ASSERT_EQ(wait({downloaded, kRounds}), BP_OK) << error.text;
    for (uint64_t i = 0; i < kRounds; ++i) ASSERT_EQ(out[i], (Floats{in[i][0] + 1, 3, 0, in[i][3] + 1})) << "round " << i;
}

TEST_P(Async, A3_ValuesGrowAndAFenceIsOfOneQueueAndDevice) {
    bp_buffer* to = buffer_of(16);
    const Floats from(4, 1);
    bp_fence* f = fence();
    uint64_t value = 77;
    EXPECT_EQ(api->fence_read(f, &value, &error.error), BP_OK) << error.text;
    EXPECT_EQ(value, 0U);
    ASSERT_EQ(upload(to, from.data(), 16, {.signal = {f, 5}}), BP_OK) << error.text;
    EXPECT_EQ(upload(to, from.data(), 16, {.signal = {f, 5}}), BP_INVALID);
    EXPECT_EQ(upload(to, from.data(), 16, {.signal = {f, 4}}), BP_INVALID);
    if (queues() + info.copy_queues > 1) {
        EXPECT_EQ(upload(to, from.data(), 16, {.queue = 1, .signal = {f, 6}}), BP_INVALID);
    }
    bp_device* other = nullptr;
    ASSERT_EQ(api->device_open(module, device_id, &other, &error.error), BP_OK) << error.text;
    bp_fence* foreign = nullptr;
    ASSERT_EQ(api->fence_create(other, &foreign, &error.error), BP_OK) << error.text;
    EXPECT_EQ(upload(to, from.data(), 16, {.signal = {foreign, 1}}), BP_INVALID);
    EXPECT_EQ(upload(to, from.data(), 16, {.wait = {{foreign, 0}}}), BP_INVALID);
    EXPECT_EQ(upload(to, from.data(), 16, {.wait = {{nullptr, 1}}}), BP_INVALID);
    api->fence_close(foreign);
    api->device_close(other);
    EXPECT_EQ(wait({f, 5}), BP_OK) << error.text;
    EXPECT_EQ(api->fence_read(f, &value, &error.error), BP_OK) << error.text;
    EXPECT_EQ(value, 5U);
    EXPECT_EQ(wait({f, 3}), BP_OK) << "a value between two belongs to the later one: " << error.text;
}

TEST_P(Async, A4_WhatIsNotSubmittedIsNotWaitedFor) {
    bp_program* program = compile(sum_graph(4).get());
    bp_buffer* x = buffer({1, 2, 3, 4});
    bp_buffer* y = buffer({9, 9, 9, 9});
    bp_fence *f = fence(), *done = fence();
    const Floats from(4, 1);
    ASSERT_EQ(upload(x, from.data(), 16, {.signal = {f, 1}}), BP_OK) << error.text;
    const std::vector<bp_binding> bindings{bind(0, x, 16), bind(1, x, 16), bind(3, y, 16)};
    EXPECT_EQ(submit(program, bindings, {.wait = {{f, 2}}, .signal = {done, 1}}), BP_INVALID);
    EXPECT_NE(error.text[0], '\0');
    EXPECT_EQ(submit(program, bindings, {.wait = {{f, 1}, {f, 2}}}), BP_INVALID);
    EXPECT_EQ(upload(y, from.data(), 16, {.queue = up(), .wait = {{f, 2}}, .signal = {done, 1}}), BP_INVALID);
    EXPECT_EQ(wait({f, 2}, 0), BP_INVALID);
    EXPECT_EQ(wait({f, 2}), BP_INVALID);
    EXPECT_EQ(wait({done, 1}), BP_INVALID);
    EXPECT_EQ(read(y, 4), Floats(4, 9)) << "nothing is submitted";
}

TEST_P(Async, A5_ACallThatSignalsReturnsBeforeTheWorkIsDone) {
    EXPECT_TRUE(sooner_or_later([&](const Long& run) {
        bp_fence* f = fence();
        EXPECT_EQ(submit(run, {.signal = {f, 1}}), BP_OK) << error.text;
        const bp_code at_once = wait({f, 1}, 0);
        EXPECT_EQ(wait({f, 1}), BP_OK) << error.text;
        return at_once == BP_TIMEOUT;
    }));
}

TEST_P(Async, A6_AWaitHasATimeLimitAndZeroAsks) {
    EXPECT_TRUE(sooner_or_later([&](const Long& run) {
        bp_fence* f = fence();
        EXPECT_EQ(submit(run, {.signal = {f, 1}}), BP_OK) << error.text;
        const bool asked = wait({f, 1}, 0) == BP_TIMEOUT;
        const bool waited = wait({f, 1}, 1'000'000) == BP_TIMEOUT;
        const bool back_before_the_end = wait({f, 1}, 0) == BP_TIMEOUT;
        EXPECT_EQ(wait({f, 1}, UINT64_MAX), BP_OK) << error.text;
        EXPECT_EQ(wait({f, 1}, 0), BP_OK) << error.text;
        return asked && waited && back_before_the_end;
    }));
}

TEST_P(Async, A7_TheCounterGrowsAndTheBytesOfAReachedPointAreThere) {
    constexpr uint64_t kRuns = 1000;
    bp_program* program = compile(sum_graph(4).get());
    bp_buffer* y = buffer_of(16);
    bp_buffer* b = buffer({0, 0, 0, 0});
    bp_buffer* x[10];
    for (int i = 0; i < 10; ++i) x[i] = buffer(Floats(4, static_cast<float>(i)));
    bp_fence* f = fence();
    std::atomic<uint64_t> begun{0};
    std::atomic<bool> stop{false}, wrong{false};
    std::thread reader([&] {
        for (uint64_t last = 0; !stop;) {
            uint64_t value = 0;
            if (api->fence_read(f, &value, nullptr) != BP_OK || value < last || value > begun) wrong = true;
            last = value;
        }
    });
    for (uint64_t i = 1; i <= kRuns; ++i) {
        begun = i;
        const bp_code code = submit(program, {bind(0, x[i % 10], 16), bind(1, b, 16), bind(3, y, 16)}, {.signal = {f, i}});
        EXPECT_EQ(code, BP_OK) << error.text;
        if (code != BP_OK) break;
        if (i % 100 != 77) continue;
        EXPECT_EQ(wait({f, i}), BP_OK) << error.text;
        Floats seen(4);
        EXPECT_EQ(download(seen.data(), y, 16, {.queue = up()}), BP_OK) << error.text;
        EXPECT_EQ(seen, Floats(4, static_cast<float>(i % 10)));
    }
    EXPECT_EQ(wait({f, begun}), BP_OK) << error.text;
    stop = true;
    reader.join();
    EXPECT_FALSE(wrong);
}

TEST_P(Async, A8_ARefusedCallSignalsNothing) {
    bp_program* program = compile(sum_graph(4).get());
    bp_buffer* x = buffer({1, 2, 3, 4});
    bp_buffer* y = buffer({9, 9, 9, 9});
    bp_fence* f = fence();
    EXPECT_EQ(submit(program, {bind(0, x, 16), bind(3, y, 16)}, {.signal = {f, 1}}), BP_INVALID);
    EXPECT_EQ(upload(y, nullptr, 16, {.signal = {f, 1}}), BP_INVALID);
    EXPECT_EQ(submit(program, {bind(0, x, 16), bind(1, x, 16), bind(3, y, 16)}, {.queue = 99, .signal = {f, 1}}),
              BP_INVALID);
    uint64_t value = 77;
    EXPECT_EQ(api->fence_read(f, &value, &error.error), BP_OK) << error.text;
    EXPECT_EQ(value, 0U);
    ASSERT_EQ(submit(program, {bind(0, x, 16), bind(1, x, 16), bind(3, y, 16)}, {.signal = {f, 1}}), BP_OK) << error.text;
    EXPECT_EQ(wait({f, 1}), BP_OK) << error.text;
    EXPECT_EQ(read(y, 4), (Floats{2, 4, 6, 8}));
}

TEST_P(Async, A9_ACancelledPointIsReachedAndThoseBehindItAreTheirOwn) {
    bp_program* program = compile(sum_graph(4).get());
    bp_buffer* x = buffer({1, 2, 3, 4});
    EXPECT_TRUE(sooner_or_later([&](const Long& run) {
        bp_buffer* y = buffer({9, 9, 9, 9});
        bp_fence* f = fence();
        uint32_t flag = 0;
        EXPECT_EQ(submit(run, {.signal = {f, 1}, .cancel = &flag}), BP_OK) << error.text;
        EXPECT_EQ(submit(program, {bind(0, x, 16), bind(1, x, 16), bind(3, y, 16)}, {.signal = {f, 2}}), BP_OK)
            << error.text;
        __atomic_store_n(&flag, 1U, __ATOMIC_RELAXED);
        EXPECT_EQ(wait({f, 2}), BP_OK) << error.text;
        EXPECT_EQ(read(y, 4), (Floats{2, 4, 6, 8}));
        const bp_code outcome = wait({f, 1}, 0);
        EXPECT_TRUE(outcome == BP_CANCELLED || outcome == BP_OK) << outcome << ": " << error.text;
        EXPECT_EQ(submit(run, {}), BP_OK) << "the program stays good: " << error.text;
        return outcome == BP_CANCELLED;
    }));
}

TEST_P(Async, A10_RecordsAndSpansMayGoAfterTheCall) {
    bp_program* program = compile(sum_graph(4).get());
    const uint64_t bytes = info_of(program).workspace_bytes;
    bp_buffer* workspace = bytes == 0 ? nullptr : buffer_of(bytes);
    bp_buffer* x = buffer_of(16);
    bp_buffer* y = buffer_of(16);
    bp_fence* f = fence();
    Floats in{1, 2, 3, 4};
    Floats out(4, -1);
    ASSERT_EQ(upload(x, in.data(), 16, {.signal = {f, 1}}), BP_OK) << error.text;
    {
        auto bindings = std::make_unique<std::vector<bp_binding>>();
        *bindings = {bind(0, x, 16), bind(1, x, 16), bind(3, y, 16)};
        auto points = std::make_unique<bp_point>(bp_point{f, 1});
        auto run = std::make_unique<bp_run>();
        run->struct_size = BP_SIZE(bp_run, flags);
        run->bindings = {bindings->data(), 3, sizeof(bp_binding)};
        run->workspace = workspace;
        run->wait = {points.get(), 1, sizeof(bp_point)};
        run->signal = {f, 2};
        ASSERT_EQ(api->run(program, run.get(), &error.error), BP_OK) << error.text;
        std::memset(bindings->data(), 0xEE, bindings->size() * sizeof(bp_binding));
        std::memset(points.get(), 0xEE, sizeof(bp_point));
        std::memset(run.get(), 0xEE, sizeof(bp_run));
    }
    ASSERT_EQ(download(out.data(), y, 16, {.signal = {f, 3}}), BP_OK) << error.text;
    ASSERT_EQ(wait({f, 3}), BP_OK) << error.text;
    EXPECT_EQ(out, (Floats{2, 4, 6, 8}));
}

TEST_P(Async, A11_QueuesAreCalledFromDifferentThreadsAtOnce) {
    if (queues() + info.copy_queues < 2) GTEST_SKIP() << "this device has one queue";
    constexpr uint64_t kCalls = 2000;
    bp_program* program = compile(sum_graph(4).get());
    bp_buffer* x = buffer({1, 2, 3, 4});
    bp_buffer* y = buffer_of(16);
    bp_buffer* z = buffer_of(16);
    bp_fence *ran = fence(), *copied = fence();
    Floats from(4), to(4);
    std::atomic<uint64_t> failed{0};
    std::thread copies([&] {
        ErrorText text;
        for (uint64_t i = 1; i <= kCalls; ++i) {
            bp_copy request{};
            request.struct_size = BP_SIZE(bp_copy, flags);
            request.from_host = from.data();
            request.to_buffer = z;
            request.bytes = 16;
            request.queue = queues() + info.copy_queues - 1;
            request.signal = {copied, i};
            if (api->copy(device, &request, &text.error) != BP_OK) ++failed;
        }
        if (api->fence_wait(copied, kCalls, kMinute, &text.error) != BP_OK) ++failed;
    });
    for (uint64_t i = 1; i <= kCalls; ++i)
        if (submit(program, {bind(0, x, 16), bind(1, x, 16), bind(3, y, 16)}, {.signal = {ran, i}}) != BP_OK) ++failed;
    EXPECT_EQ(wait({ran, kCalls}), BP_OK) << error.text;
    copies.join();
    EXPECT_EQ(failed, 0U);
    EXPECT_EQ(read(y, 4), (Floats{2, 4, 6, 8}));
}

TEST_P(Async, A18_OneProgramRunsManyTimesWithDifferentBindingsWithoutAWait) {
    constexpr uint64_t kSets = 5;
    constexpr uint64_t kRuns = 16;
    bp_program* program = compile(sum_graph(4).get());
    bp_fence* f = fence();
    std::vector<bp_buffer*> a, b, y;
    for (uint64_t i = 0; i < kSets; ++i) {
        a.push_back(buffer(Floats(4, static_cast<float>(i))));
        b.push_back(buffer(Floats(4, 10.0F * static_cast<float>(i))));
        y.push_back(buffer(Floats(4, -1)));
    }
    for (uint64_t i = 0; i < kRuns; ++i) {
        const uint64_t s = i * 3 % kSets;
        const std::vector<bp_binding> bindings{bind(0, a[s], 16), bind(1, b[(s + i / kSets) % kSets], 16),
                                               bind(3, y[s], 16)};
        ASSERT_EQ(submit(program, bindings, {.signal = {f, i + 1}}), BP_OK) << error.text;
    }
    ASSERT_EQ(wait({f, kRuns}), BP_OK) << error.text;
    Floats expected(kSets);
    for (uint64_t i = 0; i < kRuns; ++i) {
        const uint64_t s = i * 3 % kSets;
        expected[s] = static_cast<float>(s) + 10.0F * static_cast<float>((s + i / kSets) % kSets);
    }
    for (uint64_t s = 0; s < kSets; ++s) EXPECT_EQ(read(y[s], 4), Floats(4, expected[s])) << "set " << s;
}

INSTANTIATE_TEST_SUITE_P(Contract, Async, testing::Range<size_t>(0, modules().size()), module_name);

}  // namespace
}  // namespace contract
