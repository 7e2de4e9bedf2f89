#include <algorithm>

#include "processors.hpp"

namespace backplane::cpu {

uint32_t cores_of(std::vector<std::string> siblings, bool guest, uint32_t online) {
    const auto cpus = static_cast<uint32_t>(siblings.size());
    const bool unknown = std::any_of(siblings.begin(), siblings.end(), [](const std::string& list) { return list.empty(); });
    const bool pairs = std::any_of(siblings.begin(), siblings.end(),
                                   [](const std::string& list) { return list.find_first_of(",-") != std::string::npos; });
    if (unknown || (guest && !pairs)) return std::max(1u, std::min(cpus, std::max(online, cpus) / 2));
    std::sort(siblings.begin(), siblings.end());
    const auto end = std::unique(siblings.begin(), siblings.end());
    return std::max(1u, static_cast<uint32_t>(end - siblings.begin()));
}

}  // namespace backplane::cpu
