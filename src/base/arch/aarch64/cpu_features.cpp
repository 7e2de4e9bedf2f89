#include <sys/auxv.h>

#include <array>

#include "base/cpu_feature_table.hpp"
#include "base/cpu_features.hpp"

namespace backplane::base {

namespace {

template <size_t n>
void add(CpuFeatures& features, const std::array<const char*, n>& names, unsigned long bits) {
    for (size_t i = 0; i < n; ++i)
        if ((bits >> i & 1u) != 0) features.insert(names[i]);
}

}  // namespace

CpuFeatures detect_cpu_features() {
    CpuFeatures features;
    add(features, kHwcap, getauxval(AT_HWCAP));
    add(features, kHwcap2, getauxval(AT_HWCAP2));
    return features;
}

}  // namespace backplane::base
