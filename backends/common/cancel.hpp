// The host's cancel flag: raised from any thread at any time.
#pragma once

#include <cstdint>

namespace backplane::backend {

[[nodiscard]] inline bool raised(const volatile uint32_t* flag) {
    return flag != nullptr && __atomic_load_n(flag, __ATOMIC_RELAXED) != 0;
}

}  // namespace backplane::backend
