// The whole backend over a libcuda that fails where a test wants it: through the table of the module.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/gpu/module_table.hpp"
#include "device.hpp"
#include "gpu/graph_maker.hpp"
#include "scripted_cuda.hpp"

namespace backplane::cuda {

using gpu::GraphMaker;
using scripted::world;

inline constexpr bp_module_api kTable = gpu::ModuleTable<Api>::make();

class OnScriptedCuda : public testing::Test {
protected:
    void SetUp() override {
        scripted::start_anew();
        host.struct_size = BP_SIZE(bp_host, extension);
        host.abi = BP_ABI;
        host.self = this;
        host.cache_get = [](void* self, bp_blob key, bp_blob* value, void**) -> bp_code {
            auto& known = static_cast<OnScriptedCuda*>(self)->cache;
            const auto found = known.find({static_cast<const char*>(key.data), key.size});
            if (found == known.end()) return BP_NOT_FOUND;
            *value = {found->second.data(), found->second.size()};
            return BP_OK;
        };
        host.cache_done = [](void*, void*) {};
        host.cache_put = [](void* self, bp_blob key, bp_blob value) {
            static_cast<OnScriptedCuda*>(self)->cache[{static_cast<const char*>(key.data), key.size}] = {
                static_cast<const char*>(value.data), value.size};
        };
        host.cache_reject = [](void* self, bp_blob) { ++static_cast<OnScriptedCuda*>(self)->rejected; };
        ASSERT_EQ(kTable.open(&host, &module, nullptr), BP_OK);
    }
    void TearDown() override {
        close();
        EXPECT_EQ(world().alive, std::set<void*>()) << "given back, whatever happened";
        EXPECT_EQ(world().contexts, 0);
        EXPECT_EQ(world().retained, 0);
    }
    void close() {
        if (program != nullptr) kTable.program_close(std::exchange(program, nullptr));
        for (bp_buffer* b : std::exchange(buffers, {})) kTable.buffer_close(b);
        if (device != nullptr) kTable.device_close(std::exchange(device, nullptr));
        if (module != nullptr) kTable.close(std::exchange(module, nullptr));
    }
    bp_code open() {
        bp_device_info info{};
        info.struct_size = BP_SIZE(bp_device_info, copy_queues);
        const bp_array infos{&info, 1, sizeof info};
        uint32_t count = 0;
        EXPECT_EQ(kTable.list(module, &infos, &count, &error), BP_OK) << text;
        EXPECT_EQ(count, 1U);
        return kTable.device_open(module, info.id, &device, &error);
    }
    bp_buffer* buffer(uint64_t bytes) {
        bp_buffer* made = nullptr;
        EXPECT_EQ(kTable.buffer_create(device, 0, bytes, &made, &error), BP_OK) << text;
        if (made != nullptr) buffers.push_back(made);
        return made;
    }
    // y = abs(x) + x, by two kernels: abs(x) is a result, too
    bp_code compile() {
        GraphMaker g;
        const uint32_t x = g.tensor(BP_ROLE_INPUT, {4});
        const uint32_t size = g.tensor(BP_ROLE_OUTPUT, {4});
        g.node(BP_OP_abs, {x}, size);
        g.node(BP_OP_add, {size, x}, g.tensor(BP_ROLE_OUTPUT, {4}));
        return kTable.compile(device, g.get(), nullptr, &program, &error);
    }
    // y = a b^T of halves, 192 x 128 by 320 x 128, of two matrices a and one b; x is bound `at` bytes into its buffer.
    bp_code compile_product() {
        GraphMaker g;
        const uint32_t a = g.tensor(BP_ROLE_INPUT, {2, 192, 128}, BP_F16);
        const uint32_t b = g.tensor(BP_ROLE_INPUT, {320, 128}, BP_F16);
        g.node(BP_OP_matmul, {a, b}, g.tensor(BP_ROLE_OUTPUT, {2, 192, 320}, BP_F16),
               {gpu::integer(BP_ATTR_transpose_b, 1)});
        return kTable.compile(device, g.get(), nullptr, &program, &error);
    }
    bp_code run_product(uint64_t at) { return run_halves({2 * 192 * 128, 320 * 128, 2 * 192 * 320}, at); }
    // 64 filters of 1 x 1 on six maps of 40 channels.
    bp_code compile_convolution() {
        GraphMaker g;
        const uint32_t x = g.tensor(BP_ROLE_INPUT, {6, 40, 64, 64}, BP_F16);
        const uint32_t w = g.tensor(BP_ROLE_INPUT, {64, 40, 1, 1}, BP_F16);
        g.node(BP_OP_conv, {x, w}, g.tensor(BP_ROLE_OUTPUT, {6, 64, 64, 64}, BP_F16));
        return kTable.compile(device, g.get(), nullptr, &program, &error);
    }
    // Three tensors of so many halves, the first of which is bound `at` bytes into its buffer.
    bp_code run_halves(const std::array<uint64_t, 3>& sizes, uint64_t at) {
        if (buffers.empty())
            for (int i = 0; i < 4; ++i) buffer(4 << 20);
        std::array<bp_binding, 3> bindings{};
        for (uint32_t i = 0; i < 3; ++i)
            bindings[i] = {BP_SIZE(bp_binding, bytes), i, buffers[i], i == 0 ? at : 0, 2 * sizes[i]};
        bp_run r{};
        r.struct_size = BP_SIZE(bp_run, flags);
        r.bindings = {bindings.data(), 3, sizeof(bp_binding)};
        r.workspace = buffers[3];
        return kTable.run(program, &r, &error);
    }
    bp_code run() {
        if (buffers.empty()) buffer(16), buffer(16), buffer(1 << 20), buffer(16);
        const bp_binding bindings[] = {{BP_SIZE(bp_binding, bytes), 0, buffers[0], 0, 16},
                                       {BP_SIZE(bp_binding, bytes), 1, buffers[3], 0, 16},
                                       {BP_SIZE(bp_binding, bytes), 2, buffers[1], 0, 16}};
        bp_run r{};
        r.struct_size = BP_SIZE(bp_run, flags);
        r.bindings = {bindings, 3, sizeof(bp_binding)};
        r.workspace = buffers[2];
        return kTable.run(program, &r, &error);
    }
    bp_code copy(bp_buffer* to, const void* from, uint64_t bytes) {
        bp_copy c{};
        c.struct_size = BP_SIZE(bp_copy, flags);
        c.to_buffer = to;
        c.from_host = from;
        c.bytes = bytes;
        return kTable.copy(device, &c, &error);
    }
    bp_code fetch(void* to, bp_buffer* from, uint64_t bytes) {
        bp_copy c{};
        c.struct_size = BP_SIZE(bp_copy, flags);
        c.from_buffer = from;
        c.to_host = to;
        c.bytes = bytes;
        return kTable.copy(device, &c, &error);
    }
    [[nodiscard]] bool says(const std::string& words) const { return std::string(text).find(words) != std::string::npos; }

    bp_host host{};
    std::map<std::string, std::string> cache;
    int rejected = 0;
    bp_module* module = nullptr;
    bp_device* device = nullptr;
    bp_program* program = nullptr;
    std::vector<bp_buffer*> buffers;
    char text[512] = "";
    bp_error error{BP_SIZE(bp_error, capacity), BP_OK, 0, text, sizeof text};
};

}  // namespace backplane::cuda
