// Bytes, memory and loss of a scripted card, and two of them.
#include <numeric>

#include "on_scripted_cuda.hpp"

namespace backplane::cuda {
namespace {

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
