// What the tests of clauses A1 to A18 have in common: a device that states BP_CAN_ASYNC, fences, and calls that signal.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "contract/module_under_test.hpp"

namespace contract {

constexpr uint64_t kMinute = 60'000'000'000;  // more than any of this takes, on a machine that others use, too

// How a call stands among others.
struct Order {
    uint32_t queue = 0;
    std::vector<bp_point> wait = {};
    bp_point signal = {};
    const volatile uint32_t* cancel = nullptr;
};

class Async : public Module {
protected:
    void SetUp() override;
    void TearDown() override;

    bp_fence* fence();  // closed in TearDown, when all that it was to signal is done
    // Queues for copies: uploads, downloads; 0 where the device has none of its own.
    [[nodiscard]] uint32_t up() const { return info.copy_queues > 0 ? queues() : 0; }
    [[nodiscard]] uint32_t down() const { return info.copy_queues > 1 ? queues() + 1 : up(); }
    [[nodiscard]] uint32_t queues() const { return info.queues == 0 ? 1 : info.queues; }

    bp_code upload(bp_buffer* to, const void* from, uint64_t bytes, const Order& order, uint64_t offset = 0);
    bp_code download(void* to, bp_buffer* from, uint64_t bytes, const Order& order, uint64_t offset = 0);
    bp_code copy(bp_copy request, const Order& order);
    bp_code submit(bp_program* program, const std::vector<bp_binding>& bindings, const Order& order);
    bp_code wait(bp_point point, uint64_t timeout_ns = kMinute) {
        return api->fence_wait(point.fence, point.value, timeout_ns, &error.error);
    }

    // A program of many steps on n floats: y = relu(... relu(x + b) + b ...), of x = 0 and b = 1.
    struct Long {
        bp_program* program = nullptr;
        bp_buffer *x = nullptr, *b = nullptr, *y = nullptr;
        uint64_t n = 0;
    };
    Long long_program(uint64_t n);
    bp_code submit(const Long& run, const Order& order);
    // Calls `meets(program)` with longer and longer programs until it is true: it saw the run while it was on.
    template <typename Meets>
    bool sooner_or_later(Meets&& meets) {
        for (uint64_t n = uint64_t{1} << 14; n <= uint64_t{1} << 24; n *= 4)
            if (meets(long_program(n))) return true;
        return false;
    }

    // A call that was made without these functions.
    void note(const Order& order, bp_code code);

private:
    std::map<bp_fence*, uint64_t> fences_;  // the last value of each
    std::map<bp_program*, bp_buffer*> workspaces_;
};

// y = relu(k - s): in another order of the runs other values come out.
GraphMaker step_graph(int64_t n);  // tensors: 0 k, 1 s, 3 y

}  // namespace contract
