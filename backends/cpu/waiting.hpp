// Sleeping until a number changes. One implementation per platform in platform/.
#pragma once

#include <atomic>
#include <cstdint>

namespace backplane::cpu {

// Returns when `value` is not `old` any more, and now and then without a reason: look again.
void sleep_while(const std::atomic<uint32_t>& value, uint32_t old);
void wake_one(std::atomic<uint32_t>& value);
void wake_all(std::atomic<uint32_t>& value);

}  // namespace backplane::cpu
