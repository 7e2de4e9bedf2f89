// Value::base: which memory a value's offset counts from.
#pragma once

#include <cstdint>

namespace backplane::gpu {

inline constexpr uint32_t kWorkspace = 0;  // lent by the host for one run
inline constexpr uint32_t kResident = 1;   // held by the program
inline constexpr uint32_t kFirstSlot = 2;  // + index of the slot

}  // namespace backplane::gpu
