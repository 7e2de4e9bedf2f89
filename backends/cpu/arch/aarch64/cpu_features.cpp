#include "cpu_features.hpp"

#include <sys/auxv.h>
#include <sys/prctl.h>

#include <fstream>

namespace backplane::cpu {

namespace {
// From the kernel's asm/hwcap.h and linux/prctl.h; stated here because older headers lack them.
constexpr unsigned long kHwcapDotProducts = 1UL << 20;
constexpr unsigned long kHwcapSve = 1UL << 22;
constexpr int kGetVectorLength = 51;  // PR_SVE_GET_VL
constexpr int kLengthMask = 0xffff;
}  // namespace

std::vector<std::string> detected_features(const std::vector<std::string>&) {
    std::vector<std::string> out = {"neon"};
    if ((getauxval(AT_HWCAP) & kHwcapDotProducts) != 0) out.emplace_back("asimddp");
    if ((getauxval(AT_HWCAP) & kHwcapSve) != 0) {
        out.emplace_back("sve");
        const int length = prctl(kGetVectorLength);
        // The object is compiled for exactly 256 bits.
        if (length >= 0 && (length & kLengthMask) == 32) out.emplace_back("sve256");
    }
    return out;
}

std::vector<std::string> features_of_level(const std::string& level) {
    if (level == "neondot") return {"neon", "asimddp"};
    if (level == "sve") return {"neon", "sve", "sve256"};
    return {"neon"};
}

std::string processor_name() {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);)
        if (line.rfind("model name", 0) == 0) {
            const size_t at = line.find(": ");
            if (at != std::string::npos) return line.substr(at + 2);
        }
    return "arm64 CPU";
}

void relax() { __asm__ volatile("yield"); }

}  // namespace backplane::cpu
