#include "base/cpu_features.hpp"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "base/arch/x86_64/cpuid.hpp"

namespace backplane::base {

namespace {

// Cores may differ where the CPU says that it is a hybrid (leaf 7, EDX bit 15): a flag that the kernel lists for some cores and not for all
// is out. Elsewhere the list is not read: the kernel asks every core for its clock to write it, 20 us a core.
void keep_what_all_cores_have(CpuFeatures& features, Cpuid& cpuid) {
    constexpr uint32_t kHybrid = 1u << 15;
    if ((cpuid.leaf(7)[3] & kHybrid) == 0) return;
    std::ifstream file("/proc/cpuinfo");
    std::vector<std::string> different;  // lines of flags: mostly one
    for (std::string line; std::getline(file, line);)
        if (line.compare(0, 5, "flags") == 0 && std::find(different.rbegin(), different.rend(), line) == different.rend())
            different.push_back(line);
    if (different.size() < 2) return;
    std::set<std::string> any;
    std::set<std::string> all;
    for (const std::string& line : different) {
        std::istringstream words(line.substr(line.find(':') + 1));
        const std::set<std::string> here{std::istream_iterator<std::string>(words), {}};
        any.insert(here.begin(), here.end());
        if (&line == &different.front()) all = here;
        std::erase_if(all, [&](const std::string& f) { return !here.contains(f); });
    }
    std::erase_if(features, [&](const std::string& f) { return any.contains(f) && !all.contains(f); });
}

}  // namespace

CpuFeatures detect_cpu_features() {
    Cpuid cpuid;
    CpuFeatures features;
    for (const char* name : features_of_this_core(cpuid)) features.insert(name);
    keep_what_all_cores_have(features, cpuid);
    return features;
}

}  // namespace backplane::base
