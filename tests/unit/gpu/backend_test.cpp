// All of a GPU backend that is not its interface, driven through the table of a module whose Api is null_api.hpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <numeric>
#include <thread>

#include "graph_maker.hpp"
#include "null_api.hpp"

namespace backplane::gpu {
namespace {

constexpr bp_module_api kTable = ModuleTable<null::Api>::make();
using Bytes = std::vector<std::byte>;

// A host with a kernel cache in memory and options.
struct Host {
    Host() {
        table.struct_size = BP_SIZE(bp_host, extension);
        table.abi = BP_ABI;
        table.self = this;
        table.option = [](void* self, const char* name) -> const char* {
            const auto& stated = static_cast<Host*>(self)->options;
            const auto found = stated.find(name);
            return found != stated.end() ? found->second.c_str() : nullptr;
        };
        table.cache_get = [](void* self, bp_blob key, bp_blob* value, void** lease) -> bp_code {
            auto& host = *static_cast<Host*>(self);
            const std::lock_guard lock(host.mutex);  // kernels are built on several threads
            const auto found = host.cache.find({static_cast<const char*>(key.data), key.size});
            if (found == host.cache.end()) return BP_NOT_FOUND;
            *value = {found->second.data(), found->second.size()};
            *lease = nullptr;
            return BP_OK;
        };
        table.cache_done = [](void*, void*) {};
        table.cache_put = [](void* self, bp_blob key, bp_blob value) {
            auto& host = *static_cast<Host*>(self);
            const std::lock_guard lock(host.mutex);
            host.cache[{static_cast<const char*>(key.data), key.size}] = {static_cast<const char*>(value.data), value.size};
        };
        table.cache_reject = [](void* self, bp_blob) { ++static_cast<Host*>(self)->rejected; };
        table.log = [](void* self, uint32_t, const char* line) { static_cast<Host*>(self)->logged.emplace_back(line); };
    }
    bp_host table{};
    std::mutex mutex;
    std::map<std::string, std::string> options, cache;
    std::vector<std::string> logged;
    std::atomic<int> rejected = 0;
};

class Backend : public testing::Test {
protected:
    void SetUp() override {
        null::world = &world;
        ASSERT_EQ(kTable.open(&host.table, &module, nullptr), BP_OK);
    }
    void TearDown() override { close(); }
    void close() {
        for (bp_program* p : std::exchange(programs, {})) kTable.program_close(p);
        for (bp_fence* f : std::exchange(fences, {})) kTable.fence_close(f);
        for (bp_buffer* b : std::exchange(buffers, {})) kTable.buffer_close(b);
        shared = nullptr;
        if (device != nullptr) kTable.device_close(std::exchange(device, nullptr));
        if (module != nullptr) kTable.close(std::exchange(module, nullptr));
    }
    void open() { ASSERT_EQ(kTable.device_open(module, 1, &device, &error), BP_OK) << text; }
    null::Device& driver() { return *reinterpret_cast<Device<null::Api>*>(device)->api; }
    bp_buffer* buffer(uint64_t bytes, uint32_t heap = 0) {
        bp_buffer* made = nullptr;
        EXPECT_EQ(kTable.buffer_create(device, heap, bytes, &made, &error), BP_OK) << text;
        buffers.push_back(made);
        return made;
    }
    bp_fence* fence() {
        bp_fence* made = nullptr;
        EXPECT_EQ(kTable.fence_create(device, &made, &error), BP_OK) << text;
        fences.push_back(made);
        return made;
    }
    bp_program* compile(GraphMaker graph) {
        bp_program* made = nullptr;
        EXPECT_EQ(kTable.compile(device, graph.get(), nullptr, &made, &error), BP_OK) << text;
        programs.push_back(made);
        return made;
    }
    bp_program_info info(bp_program* program) {
        bp_program_info info{};
        info.struct_size = BP_SIZE(bp_program_info, moved_bytes);
        EXPECT_EQ(kTable.program_info(program, &info, &error), BP_OK) << text;
        return info;
    }
    static bp_binding bind(uint32_t tensor, bp_buffer* to, uint64_t bytes, uint64_t offset = 0) {
        return {BP_SIZE(bp_binding, bytes), tensor, to, offset, bytes};
    }
    bp_code run(bp_program* program, const std::vector<bp_binding>& bindings, bp_point signal = {},
                const volatile uint32_t* cancel = nullptr, std::vector<bp_point> wait = {}) {
        bp_run r{};
        r.struct_size = BP_SIZE(bp_run, flags);
        r.bindings = {bindings.data(), static_cast<uint32_t>(bindings.size()), sizeof(bp_binding)};
        r.wait = {wait.data(), static_cast<uint32_t>(wait.size()), sizeof(bp_point)};
        r.signal = signal;
        r.cancel = cancel;
        if (const uint64_t bytes = info(program).workspace_bytes; bytes != 0) r.workspace = workspace(bytes);
        return kTable.run(program, &r, &error);
    }
    bp_buffer* workspace(uint64_t bytes) {
        if (shared == nullptr) shared = buffer(std::max<uint64_t>(bytes, 1 << 20));
        return shared;
    }
    bp_code copy(bp_buffer* to, const void* from, uint64_t bytes, bp_point signal = {}, uint32_t queue = 0) {
        bp_copy c{};
        c.struct_size = BP_SIZE(bp_copy, flags);
        c.to_buffer = to;
        c.from_host = from;
        c.bytes = bytes;
        c.signal = signal;
        c.queue = queue;
        return kTable.copy(device, &c, &error);
    }
    bp_code fetch(void* to, bp_buffer* from, uint64_t bytes, bp_point signal = {}, uint32_t queue = 0, bp_point after = {}) {
        bp_copy c{};
        c.struct_size = BP_SIZE(bp_copy, flags);
        c.from_buffer = from;
        c.to_host = to;
        c.bytes = bytes;
        c.signal = signal;
        c.queue = queue;
        c.wait = {&after, after.fence != nullptr ? 1U : 0U, sizeof(bp_point)};
        return kTable.copy(device, &c, &error);
    }
    bp_code wait(bp_fence* f, uint64_t value, uint64_t nanoseconds = 0) {
        return kTable.fence_wait(f, value, nanoseconds, &error);
    }

    null::World world;
    Host host;
    bp_module* module = nullptr;
    bp_device* device = nullptr;
    bp_buffer* shared = nullptr;
    std::vector<bp_buffer*> buffers;
    std::vector<bp_fence*> fences;
    std::vector<bp_program*> programs;
    char text[512] = "";
    bp_error error{BP_SIZE(bp_error, capacity), BP_OK, 0, text, sizeof text};
};

// y = relu(a + b), then, for each further step, relu(y + b).
GraphMaker chain(int steps) {
    GraphMaker g;
    uint32_t at = g.tensor(BP_ROLE_INPUT, {4});
    const uint32_t b = g.tensor(BP_ROLE_INPUT, {4});
    const uint32_t y = g.tensor(BP_ROLE_OUTPUT, {4});
    for (int i = 0; i < steps; ++i) {
        const uint32_t sum = g.tensor(BP_ROLE_TEMPORARY, {4});
        const uint32_t next = i + 1 == steps ? y : g.tensor(BP_ROLE_TEMPORARY, {4});
        g.node(BP_OP_add, {at, b}, sum);
        g.node(BP_OP_relu, {sum}, next);
        at = next;
    }
    return g;
}

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

TEST_F(Backend, FewRowsByATransposedMatrixAreAKernelOfTheirOwn) {
    open();
    const auto kernel_of = [&](int64_t rows, int64_t depth, bool transposed, uint32_t dtype) {
        GraphMaker g;
        const uint32_t a = g.tensor(BP_ROLE_INPUT, {rows, depth});
        const uint32_t b =
            g.tensor(BP_ROLE_INPUT, transposed ? std::vector<int64_t>{5, depth} : std::vector<int64_t>{depth, 5}, dtype);
        const uint32_t y = g.tensor(BP_ROLE_OUTPUT, {rows, 5});
        bp_attribute attribute{};
        attribute.struct_size = sizeof attribute;
        attribute.id = BP_ATTR_transpose_b;
        attribute.type = BP_ATTRIBUTE_INT;
        attribute.integer = transposed ? 1 : 0;
        g.node(BP_OP_matmul, {a, b}, y, {attribute});
        bp_program* program = compile(g);
        const auto place = [&](uint32_t tensor, int64_t bytes) {
            return bind(tensor, buffer(static_cast<uint64_t>(bytes)), static_cast<uint64_t>(bytes));
        };
        world.dispatched.clear();
        EXPECT_EQ(run(program, {place(a, rows * depth * 4), place(b, dtype == BP_Q8_0 ? depth / 32 * 34 * 5 : depth * 5 * 4),
                                place(y, rows * 5 * 4)}),
                  BP_OK)
            << text;
        return world.dispatched.empty() ? uint32_t{kKernelCount} : world.dispatched.back();
    };
    EXPECT_EQ(kernel_of(1, 160, true, BP_F32), kKernel_matvec_f32);
    EXPECT_EQ(kernel_of(8, 160, true, BP_Q8_0), kKernel_matvec_f32_by_blocks);
    EXPECT_EQ(kernel_of(9, 160, true, BP_F32), kKernel_matmul_f32);
    EXPECT_EQ(kernel_of(1, 96, true, BP_F32), kKernel_matmul_f32) << "too short for a workgroup";
    EXPECT_EQ(kernel_of(1, 160, false, BP_F32), kKernel_matmul_f32) << "neighbours along the depth lie apart";
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

TEST_F(Backend, KernelsComeFromTheHostsCacheAndARefusedOneIsRejected) {
    open();
    EXPECT_EQ(info(compile(chain(1))).cache_hits, 0U);
    EXPECT_EQ(host.cache.size(), 2U);
    kTable.program_close(programs.back());
    programs.pop_back();
    kTable.device_close(device);
    open();
    EXPECT_EQ(info(compile(chain(1))).cache_hits, 2U);
    EXPECT_EQ(host.rejected, 0);
    kTable.program_close(programs.back());
    programs.pop_back();
    kTable.device_close(device);
    for (auto& [key, value] : host.cache) value = "of another driver";
    open();
    EXPECT_EQ(info(compile(chain(1))).cache_hits, 0U);
    EXPECT_EQ(host.rejected, 2);
    for (const auto& [key, value] : host.cache) EXPECT_EQ(value, world.binary) << key;
}

TEST_F(Backend, ConversionsBetweenAnyTwoTypesAreFewKernels) {
    open();
    int pairs = 0;
    for (uint32_t from = BP_F32; from <= BP_Q8_K; ++from) {
        for (uint32_t into = BP_F32; into <= BP_BOOL; ++into) {
            const bool block = from >= BP_Q8_0;
            if (from == into || (block && into != BP_F32 && into != BP_F16 && into != BP_BF16)) continue;
            GraphMaker g;
            const uint32_t x = g.tensor(BP_ROLE_INPUT, {256}, from);
            bp_attribute to{};
            to.struct_size = sizeof to;
            to.id = BP_ATTR_to;
            to.type = BP_ATTRIBUTE_INT;
            to.integer = into;
            g.node(BP_OP_cast, {x}, g.tensor(BP_ROLE_OUTPUT, {256}, into), {to});
            compile(g);
            ++pairs;
        }
    }
    EXPECT_EQ(pairs, 149);
    // One for all pairs, one for those with 64 bits, and f32 to f16 and back for themselves.
    EXPECT_EQ(world.of("build"), 4);
}

TEST_F(Backend, ReductionsAndOpsOnWholeNumbersShareAKernelEach) {
    open();
    const auto compile_op = [&](uint32_t op, size_t operands, uint32_t dtype, const std::vector<int64_t>& result) {
        GraphMaker g;
        std::vector<uint32_t> inputs;
        while (inputs.size() < operands) inputs.push_back(g.tensor(BP_ROLE_INPUT, {4, 200}, dtype));
        g.node(op, inputs, g.tensor(BP_ROLE_OUTPUT, result, dtype));
        compile(g);
    };
    for (const uint32_t op : {BP_OP_reduce_sum, BP_OP_reduce_mean, BP_OP_reduce_max, BP_OP_reduce_min})
        compile_op(op, 1, BP_F32, {1, 1});
    EXPECT_EQ(world.of("build"), 1);
    for (const uint32_t op : {BP_OP_abs, BP_OP_neg}) compile_op(op, 1, BP_I32, {4, 200});
    EXPECT_EQ(world.of("build"), 2);
    for (const uint32_t op : {BP_OP_add, BP_OP_sub, BP_OP_mul, BP_OP_div, BP_OP_max, BP_OP_min})
        compile_op(op, 2, BP_I32, {4, 200});
    EXPECT_EQ(world.of("build"), 3);
}

// Conv 3x3 of f16, as the matrix units take it.
GraphMaker convolution() {
    GraphMaker g;
    const uint32_t x = g.tensor(BP_ROLE_INPUT, {1, 64, 16, 16}, BP_F16);
    const uint32_t w = g.tensor(BP_ROLE_WEIGHT, {64, 64, 3, 3}, BP_F16);
    const uint32_t y = g.tensor(BP_ROLE_OUTPUT, {1, 64, 14, 14}, BP_F16);
    g.node(BP_OP_conv, {x, w}, y);
    return g;
}
TEST_F(Backend, FiltersAreLaidOutOnceByPackAndNotAtEachRun) {
    world.facts.can.matrix_tiles = true;
    world.facts.can.least_patches = 0;
    open();
    bp_program* program = compile(convolution());
    const bp_span slots = info(program).slots;
    uint32_t weight = 0;
    while (BP_AT(bp_slot, &slots, weight)->tensor != 1) ++weight;
    const bp_slot slot = *BP_AT(bp_slot, &slots, weight);
    EXPECT_NE(slot.layout, 0U);
    EXPECT_GE(slot.bytes, uint64_t{64} * 64 * 9 * 2);
    EXPECT_EQ(info(program).moved_bytes, 0U);
    const Bytes plain(uint64_t{64} * 64 * 9 * 2);
    bp_buffer* packed = buffer(slot.bytes);
    bp_copy c{};
    c.struct_size = BP_SIZE(bp_copy, flags);
    c.from_host = plain.data();
    c.to_buffer = packed;
    c.bytes = plain.size();
    ASSERT_EQ(kTable.pack(program, weight, &c, &error), BP_OK) << text;
    EXPECT_EQ(world.dispatched, std::vector<uint32_t>{kKernel_conv_matrix_filters});
    const std::vector<bp_binding> bindings{bind(0, buffer(32768), 32768), bind(1, packed, slot.bytes),
                                           bind(2, buffer(25088), 25088)};
    for (int i = 0; i < 3; ++i) ASSERT_EQ(run(program, bindings), BP_OK) << text;
    EXPECT_EQ(world.dispatched, (std::vector<uint32_t>{kKernel_conv_matrix_filters, kKernel_conv_matrix_f16,
                                                       kKernel_conv_matrix_f16, kKernel_conv_matrix_f16}));
    c.bytes -= 1;
    EXPECT_EQ(kTable.pack(program, weight, &c, &error), BP_INVALID);
}

TEST_F(Backend, AKernelThatTheCompilerRefusesIsDoneWithout) {
    world.facts.can.matrix_tiles = true;
    world.facts.can.least_patches = 0;
    for (const uint32_t refused : {kKernel_conv_matrix_f16, kKernel_conv_matrix_filters}) {
        world.unbuildable = {refused};
        host.logged.clear();
        open();
        for (int time = 0; time < 2; ++time) {  // what was found out holds for the next program
            const bp_span slots = info(compile(convolution())).slots;
            for (uint32_t i = 0; i < slots.count; ++i) EXPECT_EQ(BP_AT(bp_slot, &slots, i)->layout, 0U);
        }
        ASSERT_EQ(host.logged.size(), 1U);
        EXPECT_NE(host.logged[0].find("works without its matrix units: "), std::string::npos) << host.logged[0];
        for (bp_program* p : std::exchange(programs, {})) kTable.program_close(p);
        kTable.device_close(std::exchange(device, nullptr));
    }
}

TEST_F(Backend, ProductsOfWarpgroupsThatAreRefusedLeaveTheOtherMatrixUnits) {
    world.facts.can.matrix_tiles = world.facts.can.warpgroup_products = true;
    world.unbuildable = {kKernel_matmul_warpgroup_f16};
    open();
    for (int time = 0; time < 2; ++time) compile(square_of_halves(64));
    EXPECT_EQ(world.of("build"), 1) << "matmul_matrix, which the next program has, too";
    ASSERT_EQ(host.logged.size(), 1U);
    EXPECT_NE(host.logged[0].find("matrix units as warpgroups use them: "), std::string::npos) << host.logged[0];
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
