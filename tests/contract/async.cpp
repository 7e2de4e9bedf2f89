#include "contract/async.hpp"

namespace contract {

void Async::SetUp() {
    Module::SetUp();
    if (HasFatalFailure() || IsSkipped()) return;
    if ((info.capabilities & BP_CAN_ASYNC) == 0) GTEST_SKIP() << "this device does not state BP_CAN_ASYNC";
    ASSERT_TRUE(BP_HAS(api, fence_create) && BP_HAS(api, fence_read) && BP_HAS(api, fence_wait) && BP_HAS(api, fence_close));
}

void Async::TearDown() {
    for (const auto& [fence, last] : fences_) {
        static_cast<void>(api->fence_wait(fence, last, kMinute, nullptr));
        api->fence_close(fence);
    }
    Module::TearDown();
}

bp_fence* Async::fence() {
    bp_fence* made = nullptr;
    EXPECT_EQ(api->fence_create(device, &made, &error.error), BP_OK) << error.text;
    if (made != nullptr) fences_[made] = 0;
    return made;
}

void Async::note(const Order& order, bp_code code) {
    const auto found = fences_.find(order.signal.fence);
    if (code == BP_OK && found != fences_.end()) found->second = order.signal.value;
}

bp_code Async::copy(bp_copy request, const Order& order) {
    request.struct_size = BP_SIZE(bp_copy, flags);
    request.queue = order.queue;
    request.wait = {order.wait.data(), static_cast<uint32_t>(order.wait.size()), sizeof(bp_point)};
    request.signal = order.signal;
    const bp_code code = api->copy(device, &request, &error.error);
    note(order, code);
    return code;
}

bp_code Async::upload(bp_buffer* to, const void* from, uint64_t bytes, const Order& order, uint64_t offset) {
    bp_copy request{};
    request.from_host = from;
    request.to_buffer = to;
    request.to_offset = offset;
    request.bytes = bytes;
    return copy(request, order);
}

bp_code Async::download(void* to, bp_buffer* from, uint64_t bytes, const Order& order, uint64_t offset) {
    bp_copy request{};
    request.from_buffer = from;
    request.from_offset = offset;
    request.to_host = to;
    request.bytes = bytes;
    return copy(request, order);
}

bp_code Async::submit(bp_program* program, const std::vector<bp_binding>& bindings, const Order& order) {
    const uint64_t bytes = info_of(program).workspace_bytes;
    bp_buffer*& workspace = workspaces_[program];
    if (workspace == nullptr && bytes != 0) workspace = buffer_of(bytes);
    bp_run request{};
    request.struct_size = BP_SIZE(bp_run, flags);
    request.bindings = {bindings.data(), static_cast<uint32_t>(bindings.size()), sizeof(bp_binding)};
    request.workspace = workspace;
    request.queue = order.queue;
    request.wait = {order.wait.data(), static_cast<uint32_t>(order.wait.size()), sizeof(bp_point)};
    request.signal = order.signal;
    request.cancel = order.cancel;
    const bp_code code = api->run(program, &request, &error.error);
    note(order, code);
    return code;
}

GraphMaker step_graph(int64_t n) {
    GraphMaker g;
    const uint32_t k = g.tensor(BP_ROLE_INPUT, {n});
    const uint32_t s = g.tensor(BP_ROLE_INPUT, {n});
    const uint32_t rest = g.tensor(BP_ROLE_TEMPORARY, {n});
    const uint32_t y = g.tensor(BP_ROLE_OUTPUT, {n});
    g.node(BP_OP_sub, {k, s}, {rest});
    g.node(BP_OP_relu, {rest}, {y});
    return g;
}

Async::Long Async::long_program(uint64_t n) {
    constexpr int kPairs = 64;
    GraphMaker g;
    const auto extent = static_cast<int64_t>(n);
    uint32_t at = g.tensor(BP_ROLE_INPUT, {extent});
    const uint32_t b = g.tensor(BP_ROLE_INPUT, {extent});
    const uint32_t y = g.tensor(BP_ROLE_OUTPUT, {extent});
    for (int i = 0; i < kPairs; ++i) {
        const uint32_t sum = g.tensor(BP_ROLE_TEMPORARY, {extent});
        const uint32_t next = i + 1 == kPairs ? y : g.tensor(BP_ROLE_TEMPORARY, {extent});
        g.node(BP_OP_add, {at, b}, {sum});
        g.node(BP_OP_relu, {sum}, {next});
        at = next;
    }
    Long made{compile(g.get()), buffer(std::vector<float>(n, 0)), buffer(std::vector<float>(n, 1)), buffer_of(4 * n), n};
    // What a driver does at the first run only is not part of it.
    EXPECT_EQ(submit(made, {}), BP_OK) << error.text;
    return made;
}

bp_code Async::submit(const Long& run, const Order& order) {
    const uint64_t bytes = 4 * run.n;
    return submit(run.program, {bind(0, run.x, bytes), bind(1, run.b, bytes), bind(2, run.y, bytes)}, order);
}

}  // namespace contract
