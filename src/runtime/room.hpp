// How much memory of a device there is for one more plan.
#pragma once

#include <cstdint>

#include "backplane/context.hpp"

namespace backplane::runtime {

// What the device says is available, less a sixteenth for what drivers take beside, and no more than limit_memory() leaves; less what this process
// holds, but for what goes when others need it: weights of sessions that do not run, workspace. Bytes; 0: nobody knows. Throws Error(device_lost).
[[nodiscard]] uint64_t room_on(const Device& device);

// Whether a device that states a budget says that not a byte of it is left.
[[nodiscard]] bool is_used_up(const Device& device);

// Of the device's port (src/plan/port.hpp).
[[nodiscard]] bool keeps_order(const Device& device);

}  // namespace backplane::runtime
