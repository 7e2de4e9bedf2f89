#include "base/memory_use.hpp"

#include <cstdio>
#include <memory>

namespace backplane::base {

uint64_t peak_resident_bytes() noexcept {
    // getrusage() knows it too, but begins with what the process had before it became this program.
    if (const std::unique_ptr<std::FILE, int (*)(std::FILE*)> status(std::fopen("/proc/self/status", "re"), std::fclose);
        status != nullptr) {
        char line[256];
        unsigned long long kib = 0;
        while (std::fgets(line, sizeof line, status.get()) != nullptr)
            if (std::sscanf(line, "VmHWM: %llu kB", &kib) == 1) return kib * 1024;
    }
    return 0;
}

}  // namespace backplane::base
