#include "base/cpu_features.hpp"

namespace backplane::base {

CpuFeatures detect_cpu_features() { return {}; }  // nothing is known: modules that require a feature are not taken here

}  // namespace backplane::base
