#include "base/memory_use.hpp"

#include <sys/resource.h>

namespace backplane::base {

uint64_t peak_resident_bytes() noexcept {
    rusage usage{};
    return ::getrusage(RUSAGE_SELF, &usage) == 0 ? static_cast<uint64_t>(usage.ru_maxrss) : 0;
}

}  // namespace backplane::base
