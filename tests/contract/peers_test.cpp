// Module promises P1 to P4, of devices that state BP_CAN_PEER: two open devices of one module. Where it lists one alone, that is opened twice.
#include "contract/async.hpp"

namespace contract {
namespace {

using Floats = std::vector<float>;

class Peers : public Async {
protected:
    void SetUp() override {
        Async::SetUp();
        if (HasFatalFailure() || IsSkipped()) return;
        if ((info.capabilities & BP_CAN_PEER) == 0) GTEST_SKIP() << "this device does not state BP_CAN_PEER";
        bp_device_info listed[2]{};
        for (bp_device_info& one : listed) one.struct_size = BP_SIZE(bp_device_info, copy_queues);
        const bp_array room{listed, 2, sizeof(bp_device_info)};
        uint32_t count = 0;
        ASSERT_EQ(api->list(module, &room, &count, &error.error), BP_OK) << error.text;
        const bool second = count > 1 && (listed[1].capabilities & BP_CAN_PEER) != 0;
        RecordProperty("devices", second ? 2 : 1);
        ASSERT_EQ(api->device_open(module, second ? listed[1].id : device_id, &theirs_, &error.error), BP_OK) << error.text;
    }
    void TearDown() override {
        for (const auto& [fence, last] : signalled_) static_cast<void>(api->fence_wait(fence, last, kMinute, nullptr));
        for (const auto& [fence, last] : signalled_) api->fence_close(fence);
        for (bp_buffer* buffer : buffers_) api->buffer_close(buffer);
        if (theirs_ != nullptr) api->device_close(theirs_);
        Async::TearDown();
    }

    bp_fence* fence_there() {
        bp_fence* made = nullptr;
        EXPECT_EQ(api->fence_create(theirs_, &made, &error.error), BP_OK) << error.text;
        signalled_.emplace_back(made, 0);
        return made;
    }
    bp_buffer* buffer_there(const Floats& values) {
        bp_buffer* made = nullptr;
        EXPECT_EQ(api->buffer_create(theirs_, 0, values.size() * sizeof(float), &made, &error.error), BP_OK) << error.text;
        buffers_.push_back(made);
        EXPECT_EQ(write_there(made, values, {}), BP_OK) << error.text;
        return made;
    }
    // Floats of the host to a buffer of the other device.
    bp_code write_there(bp_buffer* to, const Floats& values, const Order& order, const std::vector<bp_point>& peers = {}) {
        bp_copy request = request_of(order, peers);
        request.from_host = values.data();
        request.to_buffer = to;
        request.bytes = values.size() * sizeof(float);
        const bp_code code = api->copy(theirs_, &request, &error.error);
        for (auto& [fence, last] : signalled_)
            if (code == BP_OK && fence == order.signal.fence) last = order.signal.value;
        return code;
    }
    // From a buffer of the other device to one of this.
    bp_code pull(bp_buffer* from, bp_buffer* to, uint64_t bytes, const Order& order,
                 const std::vector<bp_point>& peers = {}) {
        bp_copy request = request_of(order, peers);
        request.from_buffer = from;
        request.to_buffer = to;
        request.bytes = bytes;
        request.from_device = theirs_;
        return send(request, order);
    }
    bp_code send(const bp_copy& request, const Order& order) {
        const bp_code code = api->copy(device, &request, &error.error);
        note(order, code);
        return code;
    }
    static bp_copy request_of(const Order& order, const std::vector<bp_point>& peers) {
        bp_copy request{};
        request.struct_size = BP_SIZE(bp_copy, from_device);
        request.queue = order.queue;
        request.wait = {order.wait.data(), static_cast<uint32_t>(order.wait.size()), sizeof(bp_point)};
        request.peer_wait = {peers.data(), static_cast<uint32_t>(peers.size()), sizeof(bp_point)};
        request.signal = order.signal;
        return request;
    }
    [[nodiscard]] bp_device* theirs() const { return theirs_; }

private:
    bp_device* theirs_ = nullptr;
    std::vector<std::pair<bp_fence*, uint64_t>> signalled_;
    std::vector<bp_buffer*> buffers_;
};

TEST_P(Peers, P1_BytesComeFromABufferOfTheOtherDevice) {
    bp_buffer* from = buffer_there({1, 2, 3, 4, 5, 6, 7, 8});
    bp_buffer* to = buffer(Floats(8, 9));
    bp_copy request = request_of({}, {});
    request.from_buffer = from;
    request.from_offset = 8;
    request.to_buffer = to;
    request.to_offset = 4;
    request.bytes = 20;
    request.from_device = theirs();
    ASSERT_EQ(send(request, {}), BP_OK) << error.text;
    EXPECT_EQ(read(to, 8), (Floats{9, 3, 4, 5, 6, 7, 9, 9}));
    bp_fence* f = fence();
    ASSERT_EQ(pull(from, to, 32, {.queue = up(), .signal = {f, 1}}), BP_OK) << error.text;
    ASSERT_EQ(wait({f, 1}), BP_OK) << error.text;
    EXPECT_EQ(read(to, 8), (Floats{1, 2, 3, 4, 5, 6, 7, 8}));
    EXPECT_EQ(pull(from, to, 0, {}), BP_OK) << "of no bytes: " << error.text;
}

TEST_P(Peers, P2_PointsOfTheOtherDeviceOrderCopiesBothWays) {
    constexpr uint64_t kRounds = 200;
    bp_program* program = compile(sum_graph(4).get());
    bp_buffer* there = buffer_there(Floats(4, 0));
    bp_buffer* here = buffer_of(16);
    bp_buffer* one = buffer({1, 1, 1, 1});
    bp_fence *written = fence_there(), *pulled = fence(), *ran = fence(), *fetched = fence();
    std::vector<Floats> in, out(kRounds, Floats(4, -1));
    for (uint64_t i = 0; i < kRounds; ++i) in.push_back({1.0F * static_cast<float>(i), 2, 4, 3.0F * static_cast<float>(i)});
    std::vector<bp_buffer*> sums{buffer_of(16), buffer_of(16)};
    for (uint64_t i = 0; i < kRounds; ++i) {
        // The other device writes when this one has read the round before; this one reads when that has written.
        const std::vector<bp_point> read_before = i > 0 ? std::vector<bp_point>{{pulled, i}} : std::vector<bp_point>{};
        ASSERT_EQ(write_there(there, in[i], {.signal = {written, i + 1}}, read_before), BP_OK) << error.text;
        Order order{.queue = up(), .signal = {pulled, i + 1}};
        if (i > 0) order.wait = {{ran, i}};
        ASSERT_EQ(pull(there, here, 16, order, {{written, i + 1}}), BP_OK) << error.text;
        bp_buffer* sum = sums[i % 2];
        Order run{.wait = {{pulled, i + 1}}, .signal = {ran, i + 1}};
        if (i > 1) run.wait.push_back({fetched, i - 1});
        ASSERT_EQ(submit(program, {bind(0, here, 16), bind(1, one, 16), bind(3, sum, 16)}, run), BP_OK) << error.text;
        ASSERT_EQ(download(out[i].data(), sum, 16, {.queue = down(), .wait = {{ran, i + 1}}, .signal = {fetched, i + 1}}),
                  BP_OK)
            << error.text;
    }
    ASSERT_EQ(wait({fetched, kRounds}), BP_OK) << error.text;
    for (uint64_t i = 0; i < kRounds; ++i) ASSERT_EQ(out[i], (Floats{in[i][0] + 1, 3, 5, in[i][3] + 1})) << "round " << i;
}

TEST_P(Peers, P3_ARunBehindAPointOfTheOtherDeviceWaitsForIt) {
    GraphMaker graph = sum_graph(4);
    bp_compile how{};
    how.struct_size = BP_SIZE(bp_compile, math);
    bp_program* program = nullptr;
    ASSERT_EQ(api->compile(theirs(), graph.get(), &how, &program, &error.error), BP_OK) << error.text;
    bp_buffer* x = buffer_there(Floats(4, 5));
    bp_buffer* y = buffer_there(Floats(4, 0));
    bp_buffer* workspace = buffer_there(Floats(info_of(program).workspace_bytes / sizeof(float) + 1));
    const std::vector<bp_binding> bindings{bind(0, x, 16), bind(1, x, 16), bind(3, y, 16)};
    bp_fence* f = fence_there();
    uint64_t value = 0;
    EXPECT_TRUE(sooner_or_later([&](const Long& run) {
        bp_fence* mine = fence();
        const bp_point point{mine, 1};
        EXPECT_EQ(submit(run, {.signal = point}), BP_OK) << error.text;
        bp_run request{};
        request.struct_size = BP_SIZE(bp_run, peer_wait);
        request.bindings = {bindings.data(), 3, sizeof(bp_binding)};
        request.workspace = workspace;
        request.peer_wait = {&point, 1, sizeof point};
        request.signal = {f, ++value};
        EXPECT_EQ(api->run(program, &request, &error.error), BP_OK) << error.text;
        const bool under_way = wait({f, value}, 0) == BP_TIMEOUT;
        EXPECT_EQ(wait({f, value}), BP_OK) << error.text;
        EXPECT_EQ(wait(point, 0), BP_OK) << "what the run waited for is reached: " << error.text;
        return under_way;
    }));
    api->program_close(program);
    Floats sum(4);
    bp_copy back = request_of({}, {});
    back.from_buffer = y;
    back.to_host = sum.data();
    back.bytes = 16;
    ASSERT_EQ(api->copy(theirs(), &back, &error.error), BP_OK) << error.text;
    EXPECT_EQ(sum, Floats(4, 10));
}

TEST_P(Peers, P4_WhatIsNoPeersIsInvalidAndNothingIsSubmitted) {
    bp_buffer* there = buffer_there({1, 2, 3, 4});
    bp_buffer* here = buffer({9, 9, 9, 9});
    bp_fence *mine = fence(), *f = fence_there();
    ASSERT_EQ(write_there(there, {1, 2, 3, 4}, {.signal = {f, 1}}), BP_OK) << error.text;
    EXPECT_EQ(pull(there, here, 16, {}, {{f, 2}}), BP_INVALID) << "not submitted";
    EXPECT_EQ(pull(there, here, 16, {.signal = {mine, 1}}, {{nullptr, 1}}), BP_INVALID) << "no fence";
    EXPECT_EQ(pull(there, here, 16, {.signal = {f, 2}}), BP_INVALID) << "the signal is of this device";
    EXPECT_EQ(pull(there, here, 20, {}), BP_INVALID) << "outside both";
    const Floats from(4, 7);
    ASSERT_EQ(upload(here, from.data(), 16, {.signal = {mine, 1}}), BP_OK) << error.text;
    EXPECT_EQ(pull(there, here, 16, {}, {{mine, 1}}), BP_INVALID) << "a point of this device belongs into wait";
    bp_copy own = request_of({}, {});
    own.from_buffer = here;
    own.to_buffer = here;
    own.bytes = 4;
    own.from_device = device;
    EXPECT_EQ(send(own, {}), BP_INVALID) << "from itself";
    bp_copy host = request_of({}, {});
    host.from_host = from.data();
    host.to_buffer = here;
    host.bytes = 16;
    host.from_device = theirs();
    EXPECT_EQ(send(host, {}), BP_INVALID) << "from the host";
    EXPECT_NE(error.text[0], '\0');
    EXPECT_EQ(wait({mine, 1}), BP_OK) << error.text;
    EXPECT_EQ(read(here, 4), Floats(4, 7)) << "nothing was submitted";
    ASSERT_EQ(pull(there, here, 16, {.signal = {mine, 2}}, {{f, 1}}), BP_OK) << "the value is free: " << error.text;
    EXPECT_EQ(wait({mine, 2}), BP_OK) << error.text;
    EXPECT_EQ(read(here, 4), (Floats{1, 2, 3, 4}));
}

INSTANTIATE_TEST_SUITE_P(Contract, Peers, testing::Range<size_t>(0, modules().size()), module_name);

}  // namespace
}  // namespace contract
