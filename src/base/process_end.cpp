#include "base/process_end.hpp"

#include <atomic>
#include <cstdlib>

namespace backplane::base {

namespace {

std::atomic<bool> ending{false};  // of the one process there is

}  // namespace

// Handlers and destructors of static objects run in one order, the last registered first: this one right before those of the library.
void expect_process_end() noexcept {
    std::atexit([] { ending = true; });
}

bool process_is_ending() noexcept { return ending; }

}  // namespace backplane::base
