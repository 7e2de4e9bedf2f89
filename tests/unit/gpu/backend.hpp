// A backend whose Api is null_api.hpp, driven through the table of its module.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <numeric>
#include <thread>

#include "graph_maker.hpp"
#include "null_api.hpp"

namespace backplane::gpu {

inline constexpr bp_module_api kTable = ModuleTable<null::Api>::make();
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
inline GraphMaker chain(int steps) {
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

}  // namespace backplane::gpu
