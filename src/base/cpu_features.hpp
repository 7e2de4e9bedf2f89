// What instructions every core of this machine can run under this operating system.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace backplane::base {

// Names as Linux writes them: "avx2", "fma", "avx512f", "amx_tile" (/proc/cpuinfo); "asimd", "sve", "i8mm" (HWCAP). A feature is in the
// set when the instruction set has it, the operating system saves its registers, and no core is known to lack it.
using CpuFeatures = std::set<std::string, std::less<>>;
CpuFeatures detect_cpu_features();

// All names that there are, of every architecture: a mask may be meant for another machine.
std::vector<std::string> known_cpu_features();

// Without the features in `mask` ("avx512f,avx2"; separated by commas or spaces) and those that cannot be used without them.
CpuFeatures without(CpuFeatures features, std::string_view mask);

}  // namespace backplane::base
