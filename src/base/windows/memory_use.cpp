#include "base/memory_use.hpp"

#include <windows.h>

#include <psapi.h>

namespace backplane::base {

uint64_t peak_resident_bytes() noexcept {
    PROCESS_MEMORY_COUNTERS counters{};
    if (::K32GetProcessMemoryInfo(::GetCurrentProcess(), &counters, sizeof counters) == 0) return 0;
    return counters.PeakWorkingSetSize;
}

}  // namespace backplane::base
