// Module promises A12 to A17 of devices that state BP_CAN_ASYNC: loss, pinned memory, state in place, shared bytes, the host's threads, fills.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <string_view>
#include <thread>

#include "contract/async.hpp"

namespace contract {
namespace {

using Floats = std::vector<float>;

class AsyncDevice : public Async {
protected:
    // The rest of the test talks to a device of a module that another host opened.
    void open_for(const bp_host& host) {
        mine_ = {module, device};
        ASSERT_EQ(api->open(&host, &module, &error.error), BP_OK) << error.text;
        ASSERT_EQ(api->device_open(module, device_id, &device, &error.error), BP_OK) << error.text;
    }
    void close_and_return() {
        api->device_close(device);
        api->close(module);
        module = mine_.first;
        device = mine_.second;
    }

private:
    std::pair<bp_module*, bp_device*> mine_{};
};

// A host that answers the option NAME.lose-after, whatever NAME is, and knows whether it was asked.
struct LosingHost {
    LosingHost() : host(*full_host()) {
        host.self = this;
        host.option = [](void* self, const char* name) -> const char* {
            const std::string_view text = name;
            if (!text.ends_with(".lose-after")) return full_host()->option(nullptr, name);
            static_cast<LosingHost*>(self)->asked = true;
            return "4";
        };
    }
    bp_host host;
    bool asked = false;
};

TEST_P(AsyncDevice, A12_LossEndsAllWaitsAndTouchesHostMemoryNoMore) {
    constexpr uint64_t kAwaited = 2, kBeforeLoss = 4, kRuns = 8;
    LosingHost losing;
    ASSERT_NO_FATAL_FAILURE(open_for(losing.host));
    if (!losing.asked) {
        close_and_return();
        GTEST_SKIP() << "this module has no option NAME.lose-after: its device cannot be lost on purpose";
    }
    const GraphMaker made = sum_graph(4);
    bp_compile how{};
    how.struct_size = BP_SIZE(bp_compile, math);
    bp_program* program = nullptr;
    GraphMaker graph = made;
    ASSERT_EQ(api->compile(device, graph.get(), &how, &program, &error.error), BP_OK) << error.text;
    const uint64_t bytes = info_of(program).workspace_bytes;
    bp_buffer *x = nullptr, *y = nullptr, *workspace = nullptr;
    for (bp_buffer** b : {&x, &y}) ASSERT_EQ(api->buffer_create(device, 0, 16, b, &error.error), BP_OK) << error.text;
    if (bytes != 0) {
        ASSERT_EQ(api->buffer_create(device, 0, bytes, &workspace, &error.error), BP_OK) << error.text;
    }
    bp_fence *ran = nullptr, *copied = nullptr;
    for (bp_fence** f : {&ran, &copied}) ASSERT_EQ(api->fence_create(device, f, &error.error), BP_OK) << error.text;

    const bp_binding bindings[]{bind(0, x, 16), bind(1, x, 16), bind(3, y, 16)};
    auto host = std::make_unique<Floats>(4 * kRuns);
    uint64_t submitted = 0, fetched = 0;
    for (uint64_t i = 1; i <= kRuns; ++i) {
        bp_run run{};
        run.struct_size = BP_SIZE(bp_run, flags);
        run.bindings = {bindings, 3, sizeof(bp_binding)};
        run.workspace = workspace;
        run.signal = {ran, i};
        const bp_code code = api->run(program, &run, &error.error);
        ASSERT_TRUE(code == BP_OK || (code == BP_DEVICE_LOST && i > kBeforeLoss)) << code << ": " << error.text;
        if (code != BP_OK) break;
        submitted = i;
        // A driver may take as long as it likes to prepare its first kernel; a lost device does not wait for it.
        if (i <= kAwaited) {
            ASSERT_EQ(wait({ran, i}), BP_OK) << error.text;
        }
        const bp_point after{ran, i};
        bp_copy copy{};
        copy.struct_size = BP_SIZE(bp_copy, flags);
        copy.from_buffer = y;
        copy.to_host = host->data() + 4 * (i - 1);
        copy.bytes = 16;
        copy.queue = down();
        copy.wait = {&after, 1, sizeof(bp_point)};
        copy.signal = {copied, i};
        const bp_code second = api->copy(device, &copy, &error.error);
        ASSERT_TRUE(second == BP_OK || second == BP_DEVICE_LOST) << second << ": " << error.text;
        if (second == BP_OK) fetched = i;
    }
    // What was done stays done; what was under way ended well or not, and nothing that came after it did better.
    bool was_lost = false;
    for (uint64_t i = 1; i <= submitted; ++i) {
        const bp_code outcome = wait({ran, i});
        const bool may_be_well = i <= kBeforeLoss && !was_lost, may_be_lost = i > kAwaited;
        EXPECT_TRUE((may_be_well && outcome == BP_OK) || (may_be_lost && outcome == BP_DEVICE_LOST))
            << "run " << i << ": " << outcome << " " << error.text;
        was_lost = was_lost || outcome != BP_OK;
    }
    for (uint64_t i = 1; i <= fetched; ++i) {
        const bp_code outcome = wait({copied, i});
        EXPECT_TRUE(outcome == BP_OK || outcome == BP_DEVICE_LOST) << "copy " << i << ": " << outcome << " " << error.text;
    }
    host.reset();  // a sanitizer sees what still writes to it
    bp_run run{};
    run.struct_size = BP_SIZE(bp_run, flags);
    run.bindings = {bindings, 3, sizeof(bp_binding)};
    run.workspace = workspace;
    EXPECT_EQ(api->run(program, &run, &error.error), BP_DEVICE_LOST);
    EXPECT_NE(error.text[0], '\0');
    Floats to(4);
    EXPECT_EQ(download(to.data(), y, 16, {}), BP_DEVICE_LOST);
    for (bp_fence* f : {ran, copied}) api->fence_close(f);
    api->program_close(program);
    for (bp_buffer* b : {x, y, workspace})
        if (b != nullptr) api->buffer_close(b);
    close_and_return();
}

TEST_P(AsyncDevice, A13_PinnedMemoryStaysMappedAndBindsToNoSlot) {
    bp_heap heaps[8];
    for (bp_heap& heap : heaps) heap = {}, heap.struct_size = BP_SIZE(bp_heap, alignment);
    const bp_array room{heaps, 8, sizeof(bp_heap)};
    uint32_t count = 0;
    if (BP_HAS(api, heaps)) {
        ASSERT_EQ(api->heaps(device, &room, &count, &error.error), BP_OK) << error.text;
    }
    uint32_t pinned = 0;
    for (uint32_t i = 0; i < std::min(count, 8U); ++i)
        if ((heaps[i].flags & BP_MEM_PINNED) != 0) {
            EXPECT_NE(i, 0U) << "heap 0 is the device's own";
            pinned = i;
        }
    if (pinned == 0) GTEST_SKIP() << "this device has no pinned memory: its own is host memory, or the host's is as good";
    constexpr uint64_t kPart = 65536;
    bp_buffer* staging = nullptr;
    ASSERT_EQ(api->buffer_create(device, pinned, 8 * kPart, &staging, &error.error), BP_OK) << error.text;
    void* mapped = nullptr;
    ASSERT_EQ(api->buffer_map(staging, 0, 8 * kPart, &mapped, &error.error), BP_OK) << error.text;
    auto* memory = static_cast<unsigned char*>(mapped);
    bp_buffer* to = buffer_of(4 * kPart);
    bp_fence* f = fence();
    for (uint64_t i = 0; i < 4; ++i) {
        std::memset(memory + i * kPart, static_cast<int>(i + 1), kPart);
        bp_copy copy{};
        copy.from_buffer = staging;
        copy.from_offset = i * kPart;
        copy.to_buffer = to;
        copy.to_offset = i * kPart;
        copy.bytes = kPart;
        ASSERT_EQ(this->copy(copy, {.queue = up(), .signal = {f, i + 1}}), BP_OK) << error.text;
        std::memset(memory + (4 + i) * kPart, 0xEE, kPart);  // other bytes of the same buffer
    }
    ASSERT_EQ(wait({f, 4}), BP_OK) << error.text;
    std::vector<unsigned char> seen(4 * kPart);
    ASSERT_EQ(download(seen.data(), to, seen.size(), {}), BP_OK) << error.text;
    for (uint64_t i = 0; i < seen.size(); ++i) ASSERT_EQ(seen[i], i / kPart + 1) << i;
    bp_program* program = compile(sum_graph(4).get());
    bp_buffer* x = buffer({1, 2, 3, 4});
    EXPECT_EQ(submit(program, {bind(0, staging, 16), bind(1, x, 16), bind(3, to, 16)}, {}), BP_INVALID);
    api->buffer_close(staging);
}

// A state [1, rows, columns] with one row put in at a position.
struct Cache {
    static constexpr int64_t kRows = 1024, kColumns = 256;
    static constexpr uint64_t kBytes = kRows * kColumns * 4;
    Cache() {
        state = graph.tensor(BP_ROLE_STATE, {1, kRows, kColumns});
        update = graph.tensor(BP_ROLE_INPUT, {1, 1, kColumns});
        position = graph.tensor(BP_ROLE_INPUT, {1}, BP_I64);
        next = graph.tensor(BP_ROLE_STATE, {1, kRows, kColumns});
        graph.edit_tensor(next).state_in = 1 + state;
        bp_attribute axis{};
        axis.id = BP_ATTR_axis;
        axis.type = BP_ATTRIBUTE_INT;
        axis.integer = 1;
        graph.node(BP_OP_tensor_scatter, {state, update, position}, {next}, {axis});
    }
    GraphMaker graph;
    uint32_t state, update, position, next;
};

TEST_P(AsyncDevice, A14_AStateIsWrittenInPlace) {
    Cache cache;
    bp_answer answer{BP_SIZE(bp_answer, cost_ns), -1, 0, 0, 0, nullptr, 0};
    const bp_array room{&answer, 1, sizeof answer};
    ASSERT_EQ(api->query(device, cache.graph.get(), &room, &error.error), BP_OK) << error.text;
    if (answer.code != BP_OK) GTEST_SKIP() << "this device has no TensorScatter of f32";
    bp_program* program = compile(cache.graph.get());
    const bp_program_info known = info_of(program);
    const uint64_t row = Cache::kColumns * 4;
    EXPECT_LE(known.moved_bytes, row) << "bytes that a run only moves";
    EXPECT_LT(known.workspace_bytes, Cache::kBytes);
    EXPECT_LT(known.resident_bytes, Cache::kBytes);

    uint64_t guard = 4096;
    for (const bp_slot& slot : slots(program)) guard = std::max(guard, slot.alignment);
    std::vector<uint32_t> expected((Cache::kBytes + 2 * guard) / 4);
    for (size_t i = 0; i < expected.size(); ++i) expected[i] = static_cast<uint32_t>(i * 2654435761U) & 0x3FFFFFFFU;
    bp_buffer* s = buffer_of(Cache::kBytes + 2 * guard);
    ASSERT_EQ(upload(s, expected.data(), 4 * expected.size(), {}), BP_OK) << error.text;
    bp_buffer* u = buffer_of(row);
    bp_buffer* p = buffer_of(8);
    uint32_t mark = 1;
    for (const int64_t at : {int64_t{0}, int64_t{5}, Cache::kRows - 1, int64_t{-1}, Cache::kRows, INT64_MIN, INT64_MAX}) {
        const std::vector<uint32_t> value(Cache::kColumns, 0x3F800000U + mark++);
        ASSERT_EQ(upload(u, value.data(), row, {}), BP_OK) << error.text;
        ASSERT_EQ(upload(p, &at, 8, {}), BP_OK) << error.text;
        const std::vector<bp_binding> bindings{bind(cache.state, s, Cache::kBytes, guard), bind(cache.update, u, row),
                                               bind(cache.position, p, 8)};
        ASSERT_EQ(submit(program, bindings, {}), BP_OK) << error.text;
        if (at >= 0 && at < Cache::kRows)
            std::copy(value.begin(), value.end(), expected.begin() + static_cast<int64_t>(guard / 4) + at * Cache::kColumns);
        std::vector<uint32_t> seen(expected.size());
        ASSERT_EQ(download(seen.data(), s, 4 * seen.size(), {}), BP_OK) << error.text;
        EXPECT_TRUE(seen == expected) << "position " << at << ": the first difference is at word "
                                      << std::mismatch(seen.begin(), seen.end(), expected.begin()).first - seen.begin();
    }
}

TEST_P(AsyncDevice, A15_SlotsThatAreNeverInUseTogetherMayShareBytes) {
    for (const int ops : {1, 6}) {
        GraphMaker g;
        const uint32_t x = g.tensor(BP_ROLE_INPUT, {64});
        const uint32_t b = g.tensor(BP_ROLE_INPUT, {64});
        const uint32_t y = g.tensor(BP_ROLE_OUTPUT, {64});
        uint32_t at = x;
        for (int i = 0; i < ops; ++i) {
            const uint32_t next = i + 1 == ops ? y : g.tensor(BP_ROLE_TEMPORARY, {64});
            g.node(BP_OP_add, {at, b}, {next});
            at = next;
        }
        bp_program* program = compile(g.get());
        bp_slot of[2]{};
        for (const bp_slot& slot : slots(program))
            if (slot.tensor != b) of[slot.tensor == y] = slot;
        EXPECT_LE(of[0].first_use, of[0].last_use);
        EXPECT_LE(of[1].first_use, of[1].last_use);
        const bool apart = of[0].last_use != 0 && of[0].last_use < of[1].first_use;
        // Shifted by the alignment: the two overlap, but are not the same.
        const uint64_t shift = std::max<uint64_t>({of[0].alignment, of[1].alignment, 16});
        if (shift >= 256) continue;
        Floats in(128, 9);
        std::fill(in.begin(), in.begin() + 64, 1.0F);
        bp_buffer* shared = buffer(in);
        bp_buffer* ones = buffer(Floats(64, 1));
        const std::vector<bp_binding> bindings{bind(x, shared, 256), bind(b, ones, 256), bind(y, shared, 256, shift)};
        ASSERT_EQ(submit(program, bindings, {}), apart ? BP_OK : BP_INVALID) << ops << " ops: " << error.text;
        Floats expected = in;
        if (apart) std::fill_n(expected.begin() + static_cast<int64_t>(shift / 4), 64, 1.0F + static_cast<float>(ops));
        EXPECT_EQ(read(shared, 128), expected) << ops << " ops";
    }
}

// A host that lends threads. Bodies run one after another, or on two threads; never one in another.
struct LendingHost {
    explicit LendingHost(bool two) : host(*full_host()), two_threads(two) {
        host.self = this;
        host.option = [](void*, const char* name) { return full_host()->option(nullptr, name); };
        host.parallel = [](void* self, uint32_t n, void (*body)(void*, uint32_t), void* arg) {
            auto& mine = *static_cast<LendingHost*>(self);
            thread_local bool inside = false;
            if (inside) mine.nested = true;
            const auto share = [&](uint32_t first, uint32_t step) {
                inside = true;
                for (uint32_t i = first; i < n; i += step) body(arg, i);
                inside = false;
            };
            if (!mine.two_threads) return share(0, 1);
            std::thread other(share, 1, 2);
            share(0, 2);
            other.join();
        };
    }
    bp_host host;
    bool two_threads;
    std::atomic<bool> nested{false};
};

TEST_P(AsyncDevice, A16_TheHostsThreadsGiveTheSameBytes) {
    constexpr uint64_t kFloats = 1 << 19;
    Floats in(kFloats);
    for (uint64_t i = 0; i < kFloats; ++i) in[i] = static_cast<float>(i % 1009) * 0.37F - 100.0F;
    std::vector<Floats> out;
    const auto once = [&] {
        bp_compile how{};
        how.struct_size = BP_SIZE(bp_compile, math);
        bp_program* program = nullptr;
        GraphMaker graph = sum_graph(kFloats);
        ASSERT_EQ(api->compile(device, graph.get(), &how, &program, &error.error), BP_OK) << error.text;
        const uint64_t bytes = info_of(program).workspace_bytes;
        bp_buffer *x = nullptr, *y = nullptr, *workspace = nullptr;
        for (bp_buffer** b : {&x, &y})
            ASSERT_EQ(api->buffer_create(device, 0, 4 * kFloats, b, &error.error), BP_OK) << error.text;
        if (bytes != 0) {
            ASSERT_EQ(api->buffer_create(device, 0, bytes, &workspace, &error.error), BP_OK) << error.text;
        }
        ASSERT_EQ(upload(x, in.data(), 4 * kFloats, {}), BP_OK) << error.text;
        const bp_binding bindings[]{bind(0, x, 4 * kFloats), bind(1, x, 4 * kFloats), bind(3, y, 4 * kFloats)};
        bp_fence* f = nullptr;
        ASSERT_EQ(api->fence_create(device, &f, &error.error), BP_OK) << error.text;
        for (uint64_t signal = 0; signal < 2; ++signal) {  // from the caller's thread and from the module's
            bp_run run{};
            run.struct_size = BP_SIZE(bp_run, flags);
            run.bindings = {bindings, 3, sizeof(bp_binding)};
            run.workspace = workspace;
            if (signal != 0) run.signal = {f, signal};
            ASSERT_EQ(api->run(program, &run, &error.error), BP_OK) << error.text;
            if (signal != 0) {
                ASSERT_EQ(wait({f, signal}), BP_OK) << error.text;
            }
            out.emplace_back(kFloats);
            ASSERT_EQ(download(out.back().data(), y, 4 * kFloats, {}), BP_OK) << error.text;
        }
        api->fence_close(f);
        api->program_close(program);
        for (bp_buffer* b : {x, y, workspace})
            if (b != nullptr) api->buffer_close(b);
    };
    ASSERT_NO_FATAL_FAILURE(once());
    for (const bool two : {false, true}) {
        LendingHost lending(two);
        ASSERT_NO_FATAL_FAILURE(open_for(lending.host));
        ASSERT_NO_FATAL_FAILURE(once());
        EXPECT_FALSE(lending.nested) << "parallel was called from a body";
        close_and_return();
    }
    for (size_t i = 1; i < out.size(); ++i) EXPECT_TRUE(out[i] == out[0]) << "run " << i;
}

TEST_P(AsyncDevice, A17_FillsAndOverlappingCopiesStayOnTheDevice) {
    constexpr uint64_t kBytes = (1 << 20) + 3;
    std::vector<unsigned char> expected(kBytes);
    for (uint64_t i = 0; i < kBytes; ++i) expected[i] = static_cast<unsigned char>(i * 131 + i / 256);
    bp_buffer* memory = buffer_of(kBytes);
    ASSERT_EQ(upload(memory, expected.data(), kBytes, {}), BP_OK) << error.text;
    bp_fence* f = fence();
    uint64_t value = 0;
    const auto check = [&](const char* what) {
        ASSERT_EQ(wait({f, value}), BP_OK) << what << ": " << error.text;
        std::vector<unsigned char> seen(kBytes);
        ASSERT_EQ(download(seen.data(), memory, kBytes, {}), BP_OK) << what << ": " << error.text;
        EXPECT_TRUE(seen == expected) << what << ": the first difference is at byte "
                                      << std::mismatch(seen.begin(), seen.end(), expected.begin()).first - seen.begin();
    };
    bp_copy zero{};
    zero.flags = BP_COPY_ZERO;
    zero.to_buffer = memory;
    using Pairs = std::vector<std::pair<uint64_t, uint64_t>>;
    for (const auto& [offset, bytes] : Pairs{{13, 1001}, {77777, 65536}, {kBytes - 5, 5}, {100, 0}}) {
        zero.to_offset = offset;
        zero.bytes = bytes;
        ASSERT_EQ(copy(zero, {.signal = {f, ++value}}), BP_OK) << error.text;
        std::fill_n(expected.begin() + static_cast<int64_t>(offset), bytes, static_cast<unsigned char>(0));
    }
    ASSERT_NO_FATAL_FAILURE(check("fills"));
    bp_copy move{};
    move.from_buffer = move.to_buffer = memory;
    for (const auto& [from, to] : Pairs{{1001, 2003}, {300007, 299999}, {0, 3}, {555, 555}}) {
        move.from_offset = from;
        move.to_offset = to;
        move.bytes = 600001;
        ASSERT_EQ(copy(move, {.signal = {f, ++value}}), BP_OK) << error.text;
        std::memmove(expected.data() + to, expected.data() + from, 600001);
        ASSERT_NO_FATAL_FAILURE(check("overlapping copies"));
    }
    zero.to_offset = kBytes - 4;
    zero.bytes = 5;
    EXPECT_EQ(copy(zero, {}), BP_INVALID) << "past the end";
    zero.from_host = expected.data();
    zero.to_offset = 0;
    EXPECT_EQ(copy(zero, {}), BP_INVALID) << "a fill has no source";
    check("refused copies");
}

INSTANTIATE_TEST_SUITE_P(Contract, AsyncDevice, testing::Range<size_t>(0, modules().size()), module_name);

}  // namespace
}  // namespace contract
