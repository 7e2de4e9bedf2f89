#include "base/process_end.hpp"

#include <atomic>
#include <new>

namespace backplane::base {

namespace {

std::atomic<bool> ending{false};  // of the one process there is
std::atomic<void (*)() noexcept> end_heard{nullptr};

struct Left {
    const void* handle;
    const Left* next;
};
std::atomic<const Left*> left{nullptr};

}  // namespace

bool process_is_ending() noexcept { return ending; }

void note_process_is_ending() noexcept {
    if (ending.exchange(true)) return;
    if (auto* const listener = end_heard.load()) listener();
}

void hear_of_process_end(void (*listener)() noexcept) noexcept { end_heard = listener; }

void leave_open(const void* handle) noexcept {
    auto* node = new (std::nothrow) Left{handle, left};
    while (node != nullptr && !left.compare_exchange_weak(node->next, node)) {
    }
}

}  // namespace backplane::base
