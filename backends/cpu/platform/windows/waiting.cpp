// The system's own, because std::atomic::wait of libstdc++ 12 loses wake-ups where there is no futex: it looks at the value before it takes
// the lock that the waking side holds.
#include "waiting.hpp"

#ifndef NOMINMAX
#define NOMINMAX
#endif
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

namespace backplane::cpu {

static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t));

void sleep_while(const std::atomic<uint32_t>& value, uint32_t old) {
    WaitOnAddress(const_cast<std::atomic<uint32_t>*>(&value), &old, sizeof old, INFINITE);
}
void wake_one(std::atomic<uint32_t>& value) { WakeByAddressSingle(&value); }
void wake_all(std::atomic<uint32_t>& value) { WakeByAddressAll(&value); }

}  // namespace backplane::cpu
