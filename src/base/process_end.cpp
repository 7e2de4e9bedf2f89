#include "base/process_end.hpp"

#include <atomic>
#include <new>

namespace backplane::base {

namespace {

std::atomic<bool> ending{false};  // of the one process there is

struct Left {
    const void* handle;
    const Left* next;
};
std::atomic<const Left*> left{nullptr};

}  // namespace

bool process_is_ending() noexcept { return ending; }

void note_process_is_ending() noexcept { ending = true; }

void leave_open(const void* handle) noexcept {
    auto* node = new (std::nothrow) Left{handle, left};
    while (node != nullptr && !left.compare_exchange_weak(node->next, node)) {
    }
}

}  // namespace backplane::base
