#include "base/process_end.hpp"

#include <atomic>
#include <cstdlib>
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

// Handlers and destructors of static objects run in one order, the last registered first: this one right before those of the library.
void expect_process_end() noexcept {
    std::atexit([] { ending = true; });
}

bool process_is_ending() noexcept { return ending; }

void leave_open(const void* handle) noexcept {
    auto* node = new (std::nothrow) Left{handle, left};
    while (node != nullptr && !left.compare_exchange_weak(node->next, node)) {
    }
}

}  // namespace backplane::base
