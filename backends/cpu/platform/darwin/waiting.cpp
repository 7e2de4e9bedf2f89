// Written by Apple's documentation; not built or run by this project's checks yet.
#include "waiting.hpp"

namespace backplane::cpu {

void sleep_while(const std::atomic<uint32_t>& value, uint32_t old) { value.wait(old, std::memory_order_acquire); }
void wake_one(std::atomic<uint32_t>& value) { value.notify_one(); }
void wake_all(std::atomic<uint32_t>& value) { value.notify_all(); }

}  // namespace backplane::cpu
