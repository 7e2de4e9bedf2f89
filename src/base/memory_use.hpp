// Memory of this process.
#pragma once

#include <cstdint>

namespace backplane::base {

// Bytes of the most memory that this process has had resident, mapped files' pages among it; 0 where the system does not say.
uint64_t peak_resident_bytes() noexcept;

}  // namespace backplane::base
