// All of a GPU backend that is not its interface.
#include "backend.hpp"

namespace backplane::gpu {
namespace {

TEST_F(Backend, SmallBuffersShareOneBlockAndLargeOnesHaveTheirOwn) {
    open();
    const int before = world.of("allocate");
    for (int i = 0; i < 100; ++i) buffer(1000);
    EXPECT_EQ(world.of("allocate"), before + 1);
    buffer(uint64_t{3} << 20);
    EXPECT_EQ(world.of("allocate"), before + 2);
}

TEST_F(Backend, CommandsAreRecordedOnceForASetOfBuffersAndKeptForMany) {
    open();
    constexpr int kKept = 128;
    std::vector<bp_buffer*> y;
    for (int i = 0; i <= kKept; ++i) y.push_back(buffer(16));
    bp_buffer* a = buffer(16);
    const auto once = [&](bp_program* program, int i) {
        const int begun = world.of("begin");
        EXPECT_EQ(run(program, {bind(0, a, 16), bind(1, a, 16), bind(2, y[i], 16)}), BP_OK) << text;
        return world.of("begin") - begun;
    };
    bp_program* small = compile(chain(1));
    for (int i = 0; i < 3 * kKept; ++i)  // as parts that are one program have them
        EXPECT_EQ(once(small, i % kKept), i < kKept ? 1 : 0) << i;
    EXPECT_EQ(once(small, kKept), 1);
    EXPECT_EQ(once(small, 1), 0);
    EXPECT_EQ(once(small, 0), 1) << "the one used longest ago went";

    bp_program* large = compile(chain(1500));
    for (int i = 0; i < 8; ++i) EXPECT_EQ(once(large, i % 4), i < 4 ? 1 : 0) << i << ": four of any size";
    EXPECT_EQ(once(large, 4) + once(large, 0), 2) << "of many dispatches no more than four";
}

TEST_F(Backend, BarriersStandWhereWorkClashesAndNowhereElse) {
    open();
    GraphMaker apart;
    const uint32_t x = apart.tensor(BP_ROLE_INPUT, {4});
    std::vector<uint32_t> out;
    for (int i = 0; i < 3; ++i) {
        out.push_back(apart.tensor(BP_ROLE_OUTPUT, {4}));
        apart.node(BP_OP_relu, {x}, out.back());
    }
    bp_program* independent = compile(apart);
    bp_buffer* in = buffer(16);
    std::vector<bp_binding> bindings{bind(x, in, 16)};
    for (const uint32_t tensor : out) bindings.push_back(bind(tensor, buffer(16), 16));
    ASSERT_EQ(run(independent, bindings), BP_OK) << text;
    EXPECT_EQ(world.of("barrier"), 0);
    bp_program* dependent = compile(chain(2));  // four steps, each reads what the one before wrote
    ASSERT_EQ(run(dependent, {bind(0, in, 16), bind(1, in, 16), bind(2, buffer(16), 16)}), BP_OK) << text;
    EXPECT_EQ(world.of("barrier"), 3);
}

TEST_F(Backend, AWaitForShortWorkAsksTheTimelineAndDoesNotBlockButWhereTheHostsCoresDoTheWork) {
    for (const bool software : {false, true}) {
        world.facts.can.software = software;
        close();
        ASSERT_EQ(kTable.open(&host.table, &module, &error), BP_OK) << text;
        open();
        const std::vector<bp_binding> bindings{bind(0, buffer(16), 16), bind(1, buffer(16), 16), bind(2, buffer(16), 16)};
        bp_program* program = compile(chain(1));
        const int before = world.of("wait");
        bp_fence* f = fence();
        ASSERT_EQ(run(program, bindings, {f, 1}), BP_OK) << text;
        ASSERT_EQ(wait(f, 1, 1'000'000'000), BP_OK) << text;
        EXPECT_EQ(world.of("wait") - before, software ? 1 : 0);
    }
}

TEST_F(Backend, BytesPassByPinnedMemoryAndTheHostsMayChangeAtOnce) {
    world.paused = true;
    open();
    constexpr uint64_t kMany = (uint64_t{2} << 20) + 5;
    Bytes from(kMany);
    for (uint64_t i = 0; i < kMany; ++i) from[i] = static_cast<std::byte>(i * 31 + i / 256);
    const Bytes kept = from;
    bp_buffer* to = buffer(kMany);
    bp_fence* f = fence();
    ASSERT_EQ(copy(to, from.data(), kMany, {f, 1}, 1), BP_OK) << text;
    EXPECT_EQ(world.of("copy"), 9) << "parts of 256 KiB";
    std::fill(from.begin(), from.end(), std::byte{0});
    EXPECT_EQ(wait(f, 1), BP_TIMEOUT);
    Bytes back(kMany, std::byte{7});
    bp_fence* g = fence();
    ASSERT_EQ(fetch(back.data(), to, kMany, {g, 1}, 2, {f, 1}), BP_OK) << text;
    driver().go_on();
    EXPECT_EQ(back[0], std::byte{7}) << "the device does not write to memory that is not its own";
    EXPECT_EQ(wait(g, 1), BP_OK) << text;
    EXPECT_EQ(back, kept);
}

TEST_F(Backend, ManyBytesThatHaveComeAreTakenBySeveralOfTheHostsThreadsAndFewByOne) {
    static std::vector<uint32_t> asked;  // how many threads each time
    host.table.parallel = [](void*, uint32_t n, void (*body)(void*, uint32_t), void* arg) {
        asked.push_back(n);
        for (uint32_t i = 0; i < n; ++i) body(arg, i);
    };
    close();
    ASSERT_EQ(kTable.open(&host.table, &module, &error), BP_OK) << text;
    world.paused = true;
    open();
    // The first is more than there is pinned memory for.
    for (const uint64_t bytes : {(uint64_t{33} << 20) + 5, (uint64_t{3} << 20) + 3, uint64_t{64}}) {
        Bytes from(bytes), back(bytes);
        for (uint64_t i = 0; i < bytes; i += 61) from[i] = static_cast<std::byte>(i * 31 + i / 256);
        bp_buffer* to = buffer(bytes);
        bp_fence *up = fence(), *down = fence();
        ASSERT_EQ(copy(to, from.data(), bytes, {up, 1}, 1), BP_OK) << text;
        asked.clear();
        ASSERT_EQ(fetch(back.data(), to, bytes, {down, 1}, 2, {up, 1}), BP_OK) << text;
        driver().go_on();
        ASSERT_EQ(wait(down, 1, 1'000'000'000), BP_OK) << text;
        EXPECT_TRUE(back == from) << bytes;
        EXPECT_EQ(std::count(asked.begin(), asked.end(), 4U) > 0, bytes > 64) << bytes;
    }
}

TEST_F(Backend, MemoryThatTheHostSeesIsCopiedByTheCaller) {
    world.facts.can.unified = true;
    world.facts.copy_queues = 0;
    open();
    bp_buffer* to = buffer(64);
    const Bytes from(64, std::byte{5});
    Bytes back(64);
    ASSERT_EQ(copy(to, from.data(), 64), BP_OK) << text;
    ASSERT_EQ(fetch(back.data(), to, 64), BP_OK) << text;
    EXPECT_EQ(back, from);
    EXPECT_EQ(world.of("copy") + world.of("submit"), 0);
    // Behind work that is under way a copy that signals is the device's: the caller would come before it.
    world.paused = true;
    bp_program* program = compile(chain(1));
    bp_fence* f = fence();
    ASSERT_EQ(run(program, {bind(0, to, 16), bind(1, to, 16), bind(2, buffer(16), 16)}, {f, 1}), BP_OK) << text;
    ASSERT_EQ(copy(to, from.data(), 64, {f, 2}), BP_OK) << text;
    EXPECT_EQ(world.of("copy"), 1);
}

TEST_F(Backend, FewBytesAreWrittenByTheCallerWhereTheDevicesMemoryIsBehindAWindow) {
    world.window = true;
    open();
    bp_buffer* to = buffer(80);
    const Bytes few(64, std::byte{5}), many(80, std::byte{6});
    Bytes back(64);
    bp_fence *f = fence(), *g = fence();
    ASSERT_EQ(copy(to, few.data(), 64), BP_OK) << text;
    ASSERT_EQ(copy(to, few.data(), 64, {f, 1}), BP_OK) << text;
    EXPECT_EQ(world.of("copy"), 0);
    void* at = nullptr;
    EXPECT_EQ(kTable.buffer_map(to, 0, 64, &at, &error), BP_UNSUPPORTED) << "it is no memory to work in";
    // What is read, what is more, and what comes behind work that is under way: by the device.
    ASSERT_EQ(fetch(back.data(), to, 64), BP_OK) << text;
    EXPECT_EQ(back, few);
    EXPECT_EQ(world.of("copy"), 1);
    ASSERT_EQ(copy(to, many.data(), 80, {f, 2}), BP_OK) << text;
    EXPECT_EQ(world.of("copy"), 2);
    world.paused = true;
    bp_program* program = compile(chain(1));
    ASSERT_EQ(run(program, {bind(0, to, 16), bind(1, to, 16), bind(2, buffer(16), 16)}, {g, 1}), BP_OK) << text;
    const int before = world.of("copy");
    ASSERT_EQ(copy(to, few.data(), 64, {g, 2}), BP_OK) << text;
    EXPECT_EQ(world.of("copy") - before, 1);
    driver().go_on();
    ASSERT_EQ(wait(g, 2, 1'000'000'000), BP_OK) << text;
    ASSERT_EQ(fetch(back.data(), to, 64), BP_OK) << text;
    EXPECT_EQ(back, few);
}

TEST_F(Backend, QueuesWaitForEachOthersPointsAndTheHostForNone) {
    world.paused = true;
    open();
    bp_program* program = compile(chain(1));
    bp_buffer* x = buffer(16);
    bp_buffer* y = buffer(16);
    bp_fence *up = fence(), *ran = fence(), *down = fence();
    const std::vector<float> in{1, 2, 3, 4};
    std::vector<float> out(4);
    ASSERT_EQ(copy(x, in.data(), 16, {up, 1}, 1), BP_OK) << text;
    ASSERT_EQ(run(program, {bind(0, x, 16), bind(1, x, 16), bind(2, y, 16)}, {ran, 1}, nullptr, {{up, 1}}), BP_OK) << text;
    ASSERT_EQ(fetch(out.data(), y, 16, {down, 1}, 2, {ran, 1}), BP_OK) << text;
    EXPECT_EQ(driver().queues[0].pending.back().waits.size(), 1U);
    EXPECT_EQ(driver().queues[2].pending.back().waits.size(), 1U);
    EXPECT_EQ(wait(down, 1), BP_TIMEOUT);
    EXPECT_EQ(wait(down, 2), BP_INVALID);
    EXPECT_EQ(copy(x, in.data(), 16, {up, 1}, 1), BP_INVALID) << "values grow";
    EXPECT_EQ(copy(x, in.data(), 16, {up, 2}, 2), BP_INVALID) << "a fence is of one queue";
    driver().go_on();
    EXPECT_EQ(wait(down, 1), BP_OK) << text;
}

TEST_F(Backend, AtMostTwoSegmentsAreUnderWayAndAFlagStopsTheRest) {
    world.facts.can.software = true;  // each dispatch is a segment here
    world.paused = true;
    open();
    bp_program* program = compile(chain(4));
    const std::vector<bp_binding> bindings{bind(0, buffer(16), 16), bind(1, buffer(16), 16), bind(2, buffer(16), 16)};
    workspace(info(program).workspace_bytes);
    uint32_t flag = 0;
    bp_fence* f = fence();
    const int before = world.of("submit");
    std::thread host_thread([&] { EXPECT_EQ(run(program, bindings, {f, 1}, &flag), BP_OK) << text; });
    while (world.of("submit") < before + 2) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    EXPECT_EQ(world.of("submit"), before + 2);
    driver().go_on(true);
    while (world.of("submit") < before + 3) std::this_thread::yield();
    __atomic_store_n(&flag, 1U, __ATOMIC_RELAXED);
    host_thread.join();
    EXPECT_EQ(world.of("submit"), before + 3);
    driver().go_on();
    EXPECT_EQ(wait(f, 1), BP_CANCELLED);
    EXPECT_EQ(world.dispatched.size(), 3U);
}

TEST_F(Backend, AFlagRaisedBeforeThePointIsReachedIsItsOutcome) {
    world.paused = true;
    open();
    bp_program* program = compile(chain(1));
    const std::vector<bp_binding> bindings{bind(0, buffer(16), 16), bind(1, buffer(16), 16), bind(2, buffer(16), 16)};
    bp_fence* f = fence();
    uint32_t flag = 0;
    ASSERT_EQ(run(program, bindings, {f, 1}, &flag), BP_OK) << text;
    ASSERT_EQ(run(program, bindings, {f, 2}), BP_OK) << text;
    flag = 1;
    driver().go_on();
    EXPECT_EQ(wait(f, 2), BP_OK) << text;
    EXPECT_EQ(wait(f, 1), BP_CANCELLED);
}

TEST_F(Backend, ALostDeviceAnswersEverythingAndWritesNoMore) {
    world.paused = true;
    open();
    bp_buffer* from = buffer(64);
    bp_fence* f = fence();
    Bytes to(64, std::byte{7});
    ASSERT_EQ(fetch(to.data(), from, 64, {f, 1}), BP_OK) << text;
    world.lost = true;
    EXPECT_EQ(wait(f, 1), BP_DEVICE_LOST);
    world.lost = false;  // whatever the driver says later
    driver().go_on();
    EXPECT_EQ(wait(f, 1), BP_DEVICE_LOST) << "what was said stays said";
    EXPECT_EQ(to, Bytes(64, std::byte{7}));
    EXPECT_EQ(copy(from, to.data(), 64), BP_DEVICE_LOST);
    bp_buffer* none = nullptr;
    EXPECT_EQ(kTable.buffer_create(device, 0, 16, &none, &error), BP_DEVICE_LOST);
}

TEST_F(Backend, ATestMayLoseTheDeviceAfterSomeRuns) {
    host.options["null.lose-after"] = "1";
    open();
    bp_program* program = compile(chain(1));
    const std::vector<bp_binding> bindings{bind(0, buffer(16), 16), bind(1, buffer(16), 16), bind(2, buffer(16), 16)};
    EXPECT_EQ(run(program, bindings), BP_OK) << text;
    EXPECT_EQ(run(program, bindings), BP_DEVICE_LOST);
    host.options["null.lose-after"] = "soon";
    bp_device* other = nullptr;
    EXPECT_EQ(kTable.device_open(module, 1, &other, &error), BP_INVALID);
    EXPECT_NE(std::string(text).find("null.lose-after"), std::string::npos) << text;
}

TEST_F(Backend, SlotsSayWhenTheyAreUsedAndThoseInUseTogetherStandApart) {
    open();
    bp_program* program = compile(chain(2));
    const bp_span slots = info(program).slots;
    std::map<uint32_t, bp_slot> of;
    for (uint32_t i = 0; i < slots.count; ++i) of[BP_AT(bp_slot, &slots, i)->tensor] = *BP_AT(bp_slot, &slots, i);
    EXPECT_EQ(of[0].first_use, 1U);
    EXPECT_EQ(of[0].last_use, 1U);
    EXPECT_EQ(of[1].last_use, 3U);
    EXPECT_EQ(of[2].first_use, 4U);
    bp_buffer* both = buffer(64);
    bp_buffer* b = buffer(16);
    EXPECT_EQ(run(program, {bind(0, both, 16), bind(1, b, 16), bind(2, both, 16)}), BP_OK) << text;
    bp_program* one = compile(chain(1));
    EXPECT_EQ(run(one, {bind(0, both, 16), bind(1, both, 16, 16), bind(2, both, 16, 32)}), BP_OK) << text;
    EXPECT_EQ(run(one, {bind(0, b, 16), bind(1, both, 16, 16), bind(2, b, 16)}), BP_OK) << text;
}

TEST_F(Backend, PinnedMemoryIsASecondHeapThatStaysMappedAndBindsToNothing) {
    open();
    bp_heap heaps[2]{};
    for (bp_heap& heap : heaps) heap.struct_size = BP_SIZE(bp_heap, alignment);
    const bp_array room{heaps, 2, sizeof(bp_heap)};
    uint32_t count = 0;
    ASSERT_EQ(kTable.heaps(device, &room, &count, &error), BP_OK) << text;
    ASSERT_EQ(count, 2U);
    EXPECT_EQ(heaps[0].flags & BP_MEM_PINNED, 0U);
    EXPECT_NE(heaps[1].flags & BP_MEM_PINNED, 0U);
    bp_buffer* pinned = buffer(64, 1);
    void* at = nullptr;
    ASSERT_EQ(kTable.buffer_map(pinned, 0, 64, &at, &error), BP_OK) << text;
    bp_program* program = compile(chain(1));
    EXPECT_EQ(run(program, {bind(0, pinned, 16), bind(1, buffer(16), 16), bind(2, buffer(16), 16)}), BP_INVALID);
    void* none = nullptr;
    EXPECT_EQ(kTable.buffer_map(buffer(64), 0, 64, &none, &error), BP_UNSUPPORTED) << "the device's own is not seen";
}

TEST_F(Backend, ZerosAndOverlappingCopiesAreTheDevices) {
    world.paused = true;
    open();
    bp_buffer* memory = buffer(256);
    Bytes expected(256);
    for (size_t i = 0; i < 256; ++i) expected[i] = static_cast<std::byte>(i);
    bp_fence* f = fence();
    ASSERT_EQ(copy(memory, expected.data(), 256, {f, 1}), BP_OK) << text;
    bp_copy c{};
    c.struct_size = BP_SIZE(bp_copy, flags);
    c.from_buffer = c.to_buffer = memory;
    c.from_offset = 10;
    c.to_offset = 17;
    c.bytes = 100;
    c.signal = {f, 2};
    ASSERT_EQ(kTable.copy(device, &c, &error), BP_OK) << text;
    std::memmove(&expected[17], &expected[10], 100);
    c.from_buffer = nullptr;
    c.flags = BP_COPY_ZERO;
    c.to_offset = 3;
    c.bytes = 5;
    c.signal = {f, 3};
    ASSERT_EQ(kTable.copy(device, &c, &error), BP_OK) << text;
    std::fill_n(&expected[3], 5, std::byte{0});
    Bytes seen(256);
    ASSERT_EQ(fetch(seen.data(), memory, 256), BP_OK) << text;
    EXPECT_EQ(seen, expected);
    c.from_host = expected.data();
    EXPECT_EQ(kTable.copy(device, &c, &error), BP_INVALID) << "zeros have no source";
}

}  // namespace
}  // namespace backplane::gpu
