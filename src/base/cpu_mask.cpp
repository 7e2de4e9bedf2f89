#include <algorithm>

#include "base/cpu_feature_table.hpp"
#include "base/cpu_features.hpp"

namespace backplane::base {

namespace {

bool starts_with(std::string_view text, std::string_view start) { return text.substr(0, start.size()) == start; }

// Features whose registers or base instructions come with another one.
bool needs(std::string_view feature, std::string_view base) {
    if (base == "avx512f") return starts_with(feature, "avx512");
    if (base == "avx2") return starts_with(feature, "avx512") || feature == "avx_vnni";
    if (base == "avx") return starts_with(feature, "avx") || feature == "fma" || feature == "f16c";
    if (base == "amx_tile") return starts_with(feature, "amx");
    if (base == "sve") return starts_with(feature, "sve");
    if (base == "sse4_2") return starts_with(feature, "avx") || feature == "fma" || feature == "f16c";
    if (base == "asimd") return starts_with(feature, "asimd") || starts_with(feature, "sve");
    return false;
}

}  // namespace

std::vector<std::string> known_cpu_features() {
    std::set<std::string> names;  // "aes" is one of both
    for (const X86Feature& feature : kX86Features) names.insert(feature.name);
    names.insert(kHwcap.begin(), kHwcap.end());
    names.insert(kHwcap2.begin(), kHwcap2.end());
    return {names.begin(), names.end()};
}

CpuFeatures without(CpuFeatures features, std::string_view mask) {
    for (size_t at = 0; at < mask.size();) {
        const size_t end = std::min(mask.find_first_of(", ", at), mask.size());
        const std::string_view masked = mask.substr(at, end - at);
        std::erase_if(features, [&](const std::string& f) { return f == masked || needs(f, masked); });
        at = end + 1;
    }
    return features;
}

}  // namespace backplane::base
