// The whole backend over a libcuda that fails where a test wants it: through the table of the module.
#include "device.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "common/gpu/module_table.hpp"
#include "gpu/graph_maker.hpp"
#include "scripted_cuda.hpp"

namespace backplane::cuda {
namespace {

using gpu::GraphMaker;
using scripted::world;

constexpr bp_module_api kTable = gpu::ModuleTable<Api>::make();

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

TEST_F(OnScriptedCuda, BytesGoThereAndBack) {
    ASSERT_EQ(open(), BP_OK) << text;
    for (const size_t bytes : {size_t{1}, size_t{16}, size_t{5} << 20}) {
        std::vector<std::byte> in(bytes), out(bytes);
        for (size_t i = 0; i < bytes; ++i) in[i] = static_cast<std::byte>(i * 7);
        bp_buffer* there = buffer(bytes);
        ASSERT_EQ(copy(there, in.data(), bytes), BP_OK) << text;
        ASSERT_EQ(fetch(out.data(), there, bytes), BP_OK) << text;
        EXPECT_EQ(in, out);
    }
}

TEST_F(OnScriptedCuda, KernelsAreStartedOneByOneAtFirstAndAsAGraphAfterwards) {
    ASSERT_EQ(open(), BP_OK) << text;
    ASSERT_EQ(compile(), BP_OK) << text;
    ASSERT_EQ(run(), BP_OK) << text;
    EXPECT_EQ(world().launched, (std::vector<std::string>{"bp_unary_f32_0", "bp_binary_f32_0"}));
    EXPECT_EQ(world().calls["cuGraphLaunch"], 0);
    ASSERT_EQ(run(), BP_OK) << text;
    ASSERT_EQ(run(), BP_OK) << text;
    EXPECT_EQ(world().calls["cuGraphInstantiateWithFlags"], 1);
    EXPECT_EQ(world().calls["cuGraphLaunch"], 2);
    EXPECT_EQ(world().launched.size(), 6U);
}

TEST_F(OnScriptedCuda, ALongRecordingIsGraphsTheFirstOfWhichIsShort) {
    ASSERT_EQ(open(), BP_OK) << text;
    GraphMaker g;
    const uint32_t x = g.tensor(BP_ROLE_INPUT, {4});
    const uint32_t first = g.tensor(BP_ROLE_OUTPUT, {4}), last = g.tensor(BP_ROLE_OUTPUT, {4});
    uint32_t from = x;
    for (int i = 0; i < 200; ++i) {
        const uint32_t to = i == 0 ? first : i == 199 ? last : g.tensor(BP_ROLE_TEMPORARY, {4});
        g.node(BP_OP_softmax, {from}, to, {gpu::integer(BP_ATTR_axis, 0)});
        from = to;
    }
    ASSERT_EQ(kTable.compile(device, g.get(), nullptr, &program, &error), BP_OK) << text;
    ASSERT_EQ(run(), BP_OK) << text;
    ASSERT_EQ(run(), BP_OK) << text;
    EXPECT_EQ(world().calls["cuGraphLaunch"], 3) << "of 32, 96 and 72 kernels";
    EXPECT_EQ(world().launched.size(), 400U);
}

TEST_F(OnScriptedCuda, WhereTheDriverMakesNoGraphKernelsAreStartedOneByOne) {
    for (const char* call : {"cuStreamBeginCapture_v2", "cuStreamEndCapture", "cuGraphInstantiateWithFlags"}) {
        close();
        SetUp();
        world().failures[call] = {900};
        ASSERT_EQ(open(), BP_OK) << text;
        ASSERT_EQ(compile(), BP_OK) << text;
        for (int i = 0; i < 3; ++i) ASSERT_EQ(run(), BP_OK) << text;
        EXPECT_EQ(world().calls["cuGraphLaunch"], 0) << call;
        EXPECT_EQ(world().launched.size(), 6U) << call;
    }
}

TEST_F(OnScriptedCuda, AnOperandOfNoBytesIsSomewhereAllTheSame) {
    ASSERT_EQ(open(), BP_OK) << text;
    Device& opened = *reinterpret_cast<gpu::Device<Api>*>(device)->api;
    Block block = Api::allocate(opened, 1024, gpu::Placement::device);
    Recording recording = Api::begin(opened, 1);
    const gpu::Range<Block> operands[] = {{}, {&block, 256, 16}};
    Api::dispatch(recording, {}, operands, {}, {&block, 512, 512}, {});
    EXPECT_EQ(recording.steps.at(0).operands[0], block.at() + 512);
    EXPECT_EQ(recording.steps.at(0).operands[1], block.at() + 256);
}

TEST_F(OnScriptedCuda, AKernelHasTheConstantsThatItsInstanceLeavesOpen) {
    ASSERT_EQ(open(), BP_OK) << text;
    ASSERT_EQ(compile(), BP_OK) << text;
    ASSERT_EQ(run(), BP_OK) << text;
    EXPECT_EQ(world().constants["bp_unary_f32_0"][0], uint32_t{BP_OP_abs});
    EXPECT_EQ(world().constants["bp_binary_f32_0"][0], uint32_t{BP_OP_add});
}

TEST_F(OnScriptedCuda, KernelsOfAFileShareWhatIsLoadedWhateverTheirConstantsAreAsLongAsOneOfThemIsThere) {
    ASSERT_EQ(open(), BP_OK) << text;
    Device& opened = *reinterpret_cast<gpu::Device<Api>*>(device)->api;
    const auto build = [&](uint32_t op) {
        return Api::build(opened, gpu::kKernel_unary_f32, std::vector<uint32_t>{128, op}, {});
    };
    const auto loads = [] { return world().calls["cuModuleLoadData"]; };
    world().failures["cuModuleGetFunction"] = {500};
    EXPECT_THROW(build(BP_OP_abs), sdk::Failure);
    const size_t before = world().alive.size();
    EXPECT_EQ(loads(), 1) << "and what was loaded is given back";
    {
        const Kernel absolute = build(BP_OP_abs), square_root = build(BP_OP_sqrt);
        EXPECT_EQ(loads(), 2);
        EXPECT_EQ(world().alive.size(), before + 1);
        Recording recording = Api::begin(opened, 2);
        for (const Kernel* kernel : {&absolute, &square_root})
            Api::dispatch(recording, *kernel, {}, std::vector<uint32_t>{7}, {}, {});
        for (const auto& [step, op] : {std::pair(0, BP_OP_abs), std::pair(1, BP_OP_sqrt)}) {
            EXPECT_EQ(recording.steps.at(step).constants[0], uint32_t{op}) << "what the instance leaves open";
            EXPECT_EQ(recording.steps.at(step).words[0], 7U);
        }
    }
    EXPECT_EQ(world().alive.size(), before);
    const Kernel again = build(BP_OP_abs);
    EXPECT_EQ(loads(), 3);
}

TEST_F(OnScriptedCuda, AProductOfWarpgroupsHasItsSharedMemoryAndMapsOfItsOperands) {
    ASSERT_EQ(open(), BP_OK) << text;
    ASSERT_EQ(compile_product(), BP_OK) << text;
    ASSERT_EQ(run_product(0), BP_OK) << text;
    ASSERT_EQ(world().launches.size(), 1U);
    const scripted::Launch& launch = world().launches[0];
    EXPECT_EQ(launch.name.rfind("bp_matmul_warpgroup_f16_", 0), 0U) << launch.name;
    EXPECT_EQ(launch.local, 384U);
    EXPECT_GT(launch.shared, 49152U);
    EXPECT_EQ(launch.shared, launch.most_shared) << "the driver is told before";
    ASSERT_EQ(world().maps.size(), 2U);
    const auto place = [](const bp_buffer* b) {
        const gpu::Range<Block> range = reinterpret_cast<const gpu::Buffer<Api>*>(b)->range(0, 16);
        return range.block->at() + range.offset;
    };
    EXPECT_EQ(world().maps[0].at, place(buffers[0]));
    EXPECT_EQ(world().maps[0].extents, (std::vector<uint64_t>{128, 192, 2}));
    EXPECT_EQ(world().maps[0].strides, (std::vector<uint64_t>{256, 192 * 256}));
    EXPECT_EQ(world().maps[0].box, (std::vector<uint32_t>{64, 128, 1}));
    EXPECT_EQ(world().maps[1].at, place(buffers[1]));
    EXPECT_EQ(world().maps[1].extents, (std::vector<uint64_t>{128, 320, 1})) << "the same matrix for all of a";
    // As often as it is run, and as a graph, with what was made for these buffers.
    for (int i = 0; i < 3; ++i) ASSERT_EQ(run_product(0), BP_OK) << text;
    EXPECT_EQ(world().maps.size(), 2U);
}

TEST_F(OnScriptedCuda, AConvolutionOfWarpgroupsHasAMapOfAllItsImages) {
    ASSERT_EQ(open(), BP_OK) << text;
    ASSERT_EQ(compile_convolution(), BP_OK) << text;
    ASSERT_EQ(run_halves({6 * 40 * 4096, 64 * 40, 6 * 64 * 4096}, 0), BP_OK) << text;
    ASSERT_EQ(world().launches.size(), 2U);
    EXPECT_EQ(world().launches[0].name.rfind("bp_conv_warpgroup_filters_", 0), 0U) << world().launches[0].name;
    EXPECT_EQ(world().launches[1].name.rfind("bp_conv_warpgroup_f16_", 0), 0U) << world().launches[1].name;
    EXPECT_EQ(world().launches[1].groups[2], 6U);
    EXPECT_EQ(world().launches[1].shared, world().launches[1].most_shared);
    ASSERT_EQ(world().maps.size(), 1U);
    EXPECT_EQ(world().maps[0].extents, (std::vector<uint64_t>{64, 40, 64, 6}));
    EXPECT_EQ(world().maps[0].strides, (std::vector<uint64_t>{8192, 128, 40 * 8192}));
    EXPECT_EQ(world().maps[0].box, (std::vector<uint32_t>{64, 16, 8, 1}));
}

TEST_F(OnScriptedCuda, AnOperandThatTheDeviceCannotCopyHasNoMap) {
    ASSERT_EQ(open(), BP_OK) << text;
    ASSERT_EQ(compile_product(), BP_OK) << text;
    ASSERT_EQ(run_product(2), BP_OK) << text;
    ASSERT_EQ(world().maps.size(), 1U);
    EXPECT_EQ(world().maps[0].extents[1], 320U);
}

TEST_F(OnScriptedCuda, AnOperandThatTheDriverDoesNotDescribeIsSaid) {
    ASSERT_EQ(open(), BP_OK) << text;
    ASSERT_EQ(compile_product(), BP_OK) << text;
    world().failures["cuTensorMapEncodeTiled"] = {1, 0, true};
    EXPECT_EQ(run_product(0), BP_INTERNAL);
    EXPECT_TRUE(says("describe an operand of matmul_warpgroup_f16 to NVIDIA Test Card")) << text;
}

TEST_F(OnScriptedCuda, WithoutTheSharedMemoryOfWarpgroupsProductsAreMadeOnTheUnitsOfAWarp) {
    world().failures["cuFuncSetAttribute"] = {1, 0, true};
    ASSERT_EQ(open(), BP_OK) << text;
    ASSERT_EQ(compile_product(), BP_OK) << text;
    ASSERT_EQ(run_product(0), BP_OK) << text;
    ASSERT_EQ(world().launches.size(), 1U);
    EXPECT_EQ(world().launches[0].name.rfind("bp_matmul_matrix_f16_", 0), 0U) << world().launches[0].name;
}

TEST_F(OnScriptedCuda, KernelsAreStartedEarlyWhereTheirMachineCodeWaits) {
    const struct {
        int major, minor;
        bool early;
    } cards[] = {{8, 0, false},
                 {8, 9, false},
                 {9, 0, true},
                 {12, 0, true},
                 {13, 0, false}};  // of 13.0 the driver compiles PTX that does not wait
    for (const auto& card : cards) {
        close();
        SetUp();
        world().cards[0].major = card.major, world().cards[0].minor = card.minor;
        ASSERT_EQ(open(), BP_OK) << text;
        ASSERT_EQ(compile(), BP_OK) << text;
        for (int i = 0; i < 2; ++i) ASSERT_EQ(run(), BP_OK) << text;
        ASSERT_EQ(world().launches.size(), 4U) << "twice one by one: the second time for the graph";
        for (const scripted::Launch& launch : world().launches) EXPECT_EQ(launch.early, card.early) << card.major;
    }
}

TEST_F(OnScriptedCuda, MemoryThatIsNotThereIsSaidAtEachAllocation) {
    for (int nth = 0; nth < 4; ++nth) {
        close();
        SetUp();
        for (const char* call : {"cuMemAlloc_v2", "cuMemHostAlloc"}) world().failures[call] = {2, nth};
        bp_code code = open();
        if (code == BP_OK) code = compile();
        for (int i = 0; code == BP_OK && i < 10; ++i) {
            bp_buffer* made = nullptr;
            code = kTable.buffer_create(device, static_cast<uint32_t>(i % 2), uint64_t{4} << 20, &made, &error);
            if (made != nullptr) buffers.push_back(made);
        }
        ASSERT_TRUE(code == BP_NO_DEVICE_MEMORY || code == BP_NO_HOST_MEMORY) << nth << ": " << code << text;
        EXPECT_TRUE(says("CUDA_ERROR_OUT_OF_MEMORY (the driver's words)")) << text;
        EXPECT_TRUE(says("free ")) << text;
    }
}

TEST_F(OnScriptedCuda, EachCallThatFailsWhenTheDeviceIsOpenedIsSaid) {
    for (const char* call : {"cuDevicePrimaryCtxRetain", "cuStreamCreate"})
        for (int nth = 0; nth < (std::string(call) == "cuStreamCreate" ? 4 : 1); ++nth) {
            close();
            SetUp();
            world().failures[call] = {2, nth};
            EXPECT_EQ(open(), BP_NO_DEVICE_MEMORY) << call;
            EXPECT_TRUE(says("open NVIDIA Test Card: CUDA_ERROR_OUT_OF_MEMORY")) << text;
        }
}

TEST_F(OnScriptedCuda, KernelsThatTheDriverDoesNotTakeAreUnsupportedWithItsWords) {
    const struct {
        int result;
        const char* remedy;
    } cases[] = {{222, "update the driver"}, {209, "built for this card"}, {200, "damaged"}};
    for (const auto& c : cases)
        for (const char* call : {"cuModuleLoadData", "cuModuleGetFunction"}) {
            close();
            SetUp();
            ASSERT_EQ(open(), BP_OK) << text;
            world().failures[call] = {c.result, 0, true};
            EXPECT_EQ(compile(), BP_UNSUPPORTED) << call;
            EXPECT_TRUE(says("load kernel ")) << text;
            EXPECT_TRUE(says(c.remedy)) << text;
        }
}

TEST_F(OnScriptedCuda, ALostContextIsALostDeviceFromThenOn) {
    for (const int result : {700, 719, 999, 214})
        for (const char* call :
             {"cuLaunchKernelEx", "cuEventRecord", "cuEventQuery", "cuEventSynchronize", "cuMemcpyAsync"}) {
            close();
            SetUp();
            ASSERT_EQ(open(), BP_OK) << text;
            ASSERT_EQ(compile(), BP_OK) << text;
            std::vector<float> data(4, 1.0F);
            ASSERT_EQ(run(), BP_OK) << text;
            world().failures[call] = {result, world().calls[call], true, true};
            if (std::string(call) == "cuEventSynchronize") world().paused = true;
            bp_code code = copy(buffer(16), data.data(), 16);
            if (code == BP_OK) code = fetch(data.data(), buffers[0], 16);
            for (int i = 0; code == BP_OK && i < 3; ++i) code = run();
            if (std::string(call) == "cuLaunchKernelEx" && code == BP_OK) continue;  // a graph has it
            EXPECT_EQ(code, BP_DEVICE_LOST) << call << text;
            EXPECT_EQ(run(), BP_DEVICE_LOST);
            EXPECT_TRUE(says("close the device and open it again")) << text;
        }
}

TEST_F(OnScriptedCuda, WhatTheDriverCompilesIsKeptAndTakenBack) {
    world().cards[0].major = 13;
    ASSERT_EQ(open(), BP_OK) << text;
    ASSERT_EQ(compile(), BP_OK) << text;
    EXPECT_EQ(world().calls["cuLinkComplete"], 2);
    EXPECT_EQ(cache.size(), 2U);
    close();
    const auto kept = cache;
    SetUp();
    world().cards[0].major = 13;
    cache = kept;
    ASSERT_EQ(open(), BP_OK) << text;
    ASSERT_EQ(compile(), BP_OK) << text;
    EXPECT_EQ(world().calls["cuLinkComplete"], 0);
    bp_program_info info{};
    info.struct_size = BP_SIZE(bp_program_info, moved_bytes);
    ASSERT_EQ(kTable.program_info(program, &info, &error), BP_OK);
    EXPECT_EQ(info.cache_hits, 2U);
}

TEST_F(OnScriptedCuda, MachineCodeIsNotKept) {
    ASSERT_EQ(open(), BP_OK) << text;
    ASSERT_EQ(compile(), BP_OK) << text;
    EXPECT_EQ(world().calls["cuLinkCreate_v2"], 0);
    EXPECT_TRUE(cache.empty());
}

// A file of all instances may take a driver half a minute: longer than a trial waits.
TEST_F(OnScriptedCuda, TheDriverCompilesTheKernelsOfTheProgramAndNoOther) {
    world().cards[0].major = 13;
    ASSERT_EQ(open(), BP_OK) << text;
    ASSERT_EQ(compile(), BP_OK) << text;
    ASSERT_FALSE(world().compiled.empty());
    std::set<std::string> texts;
    for (const std::string& given : world().compiled) {
        EXPECT_TRUE(texts.insert(given).second) << "none twice: " << given;
        EXPECT_TRUE(given.starts_with("// ") && given.find('\n') == given.size() - 1) << "one part: " << given;
    }
}

TEST_F(OnScriptedCuda, TheWordsOfTheDriversCompilerAreInTheFailure) {
    world().cards[0].major = 13;
    world().compiler_log = "ptxas fatal: it is\ntoo new";
    world().failures["cuLinkAddData_v2"] = {218, 0, true};
    ASSERT_EQ(open(), BP_OK) << text;
    EXPECT_EQ(compile(), BP_UNSUPPORTED);
    EXPECT_TRUE(says("the driver's compiler says: ptxas fatal: it is too new")) << text;
}

TEST_F(OnScriptedCuda, FreeMemoryIsKnownWhileTheDeviceIsOpen) {
    const auto free_now = [&] {
        bp_device_info info{};
        info.struct_size = BP_SIZE(bp_device_info, copy_queues);
        const bp_array infos{&info, 1, sizeof info};
        uint32_t count = 0;
        EXPECT_EQ(kTable.list(module, &infos, &count, &error), BP_OK);
        return info.memory_free;
    };
    world().cards[0].memory = uint64_t{64} << 20;
    world().cards[0].others = uint64_t{20} << 20;
    EXPECT_EQ(free_now(), 0U);
    EXPECT_EQ(world().calls["cuDevicePrimaryCtxRetain"], 0) << "which takes a card 70 ms";
    ASSERT_EQ(open(), BP_OK) << text;
    EXPECT_EQ(free_now(), uint64_t{44} << 20);
    EXPECT_EQ(world().calls["cuDevicePrimaryCtxRetain"], 1);
    EXPECT_EQ(world().calls["cuInit"], 1);
    buffer(uint64_t{4} << 20);
    EXPECT_EQ(free_now(), uint64_t{40} << 20);
    world().cards[0].others = world().cards[0].memory;
    EXPECT_EQ(free_now(), 1U) << "none, and not unknown";
}

TEST_F(OnScriptedCuda, SmallBuffersTakeNoMoreThanThereIs) {
    world().cards[0].others = world().cards[0].memory - (uint64_t{5} << 20);
    ASSERT_EQ(open(), BP_OK) << text;
    for (int i = 0; i < 3; ++i) buffer(uint64_t{1} << 20);
    EXPECT_EQ(world().cards[0].used, uint64_t{4} << 20) << "not a stretch of 16 MiB";
}

class OnTwoScriptedCards : public OnScriptedCuda {
protected:
    void SetUp() override {
        OnScriptedCuda::SetUp();
        world().cards = {{.name = "NVIDIA First Card", .pci_bus = 7, .uuid = 1},
                         {.name = "NVIDIA Second Card", .pci_bus = 8, .uuid = 2}};
        bp_device_info infos[2]{};
        for (bp_device_info& info : infos) info.struct_size = BP_SIZE(bp_device_info, copy_queues);
        const bp_array array{infos, 2, sizeof infos[0]};
        uint32_t count = 0;
        ASSERT_EQ(kTable.list(module, &array, &count, &error), BP_OK) << text;
        ASSERT_EQ(count, 2U);
        for (const bp_device_info& info : infos) EXPECT_NE(info.capabilities & BP_CAN_PEER, 0U);
        EXPECT_EQ(infos[0].uuid[0], 1);
        EXPECT_EQ(infos[1].uuid[0], 2);
        EXPECT_EQ(infos[0].pci_bus, 7U);
        EXPECT_EQ(infos[1].pci_bus, 8U);
        EXPECT_NE(infos[0].id, infos[1].id);
        ASSERT_EQ(kTable.device_open(module, infos[0].id, &device, &error), BP_OK) << text;
        ASSERT_EQ(kTable.device_open(module, infos[1].id, &second, &error), BP_OK) << text;
        ASSERT_EQ(kTable.buffer_create(second, 0, 64, &there, &error), BP_OK) << text;
        ASSERT_EQ(kTable.fence_create(second, &fence, &error), BP_OK) << text;
    }
    void TearDown() override {
        kTable.fence_close(fence);
        kTable.buffer_close(there);
        kTable.device_close(second);
        OnScriptedCuda::TearDown();
    }
    // 64 bytes of the second card's buffer to one of the first.
    bp_code pull(bp_buffer* to, const std::vector<bp_point>& behind = {}) {
        bp_copy c{};
        c.struct_size = BP_SIZE(bp_copy, from_device);
        c.from_buffer = there;
        c.from_device = second;
        c.to_buffer = to;
        c.bytes = 64;
        c.queue = 1;
        c.peer_wait = {behind.data(), static_cast<uint32_t>(behind.size()), sizeof(bp_point)};
        return kTable.copy(device, &c, &error);
    }
    bp_code write_there(const std::vector<float>& values, bp_point signal) {
        bp_copy c{};
        c.struct_size = BP_SIZE(bp_copy, flags);
        c.to_buffer = there;
        c.from_host = values.data();
        c.bytes = 64;
        c.signal = signal;
        return kTable.copy(second, &c, &error);
    }

    bp_device* second = nullptr;
    bp_buffer* there = nullptr;
    bp_fence* fence = nullptr;
};

TEST_F(OnTwoScriptedCards, BytesGoFromCardToCardBehindWhatWroteThem) {
    std::vector<float> values(16), read(16);
    std::iota(values.begin(), values.end(), 1.0F);
    bp_buffer* here = buffer(64);
    world().paused = true;  // so that the write is not known to be done
    ASSERT_EQ(write_there(values, {fence, 1}), BP_OK) << text;
    const size_t before = world().waits.size();
    ASSERT_EQ(pull(here, {{fence, 1}}), BP_OK) << text;
    EXPECT_EQ(world().waits.size(), before + 1) << "the card waits, and not the host";
    world().paused = false;
    ASSERT_EQ(pull(here), BP_OK) << text;
    ASSERT_EQ(fetch(read.data(), here, 64), BP_OK) << text;
    EXPECT_EQ(read, values);
    ASSERT_EQ(world().crossings.size(), 2U);
    EXPECT_EQ(world().crossings[0].from, "NVIDIA Second Card");
    EXPECT_EQ(world().crossings[0].to, "NVIDIA First Card");
    EXPECT_EQ(world().crossings[0].bytes, 64U);
    EXPECT_EQ(world().calls["cuCtxEnablePeerAccess"], 1) << "once for a pair";
}

TEST_F(OnTwoScriptedCards, WhereTheyDoNotReachEachOtherTheDriverCopiesAllTheSame) {
    world().failures["cuCtxEnablePeerAccess"] = {217, 0, true};  // CUDA_ERROR_PEER_ACCESS_UNSUPPORTED
    const std::vector<float> values(16, 5);
    std::vector<float> read(16);
    bp_buffer* here = buffer(64);
    ASSERT_EQ(write_there(values, {}), BP_OK) << text;
    ASSERT_EQ(pull(here), BP_OK) << text;
    ASSERT_EQ(fetch(read.data(), here, 64), BP_OK) << text;
    EXPECT_EQ(read, values);
}

TEST_F(OnTwoScriptedCards, ACopyThatTheDriverRefusesIsSaid) {
    world().failures["cuMemcpyPeerAsync"] = {719, 0, false, true};
    EXPECT_EQ(pull(buffer(64)), BP_DEVICE_LOST);
    EXPECT_TRUE(says("copy from NVIDIA Second Card to NVIDIA First Card")) << text;
    world().lost = 0;
}

}  // namespace
}  // namespace backplane::cuda
