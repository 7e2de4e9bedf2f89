// What work costs on a device, by graphs of single kinds of it.
#pragma once

#include "backplane/cost.hpp"

namespace backplane::runtime {

[[nodiscard]] DeviceCosts measured_costs(const Device& device, const std::vector<Device>& others,
                                         const CostOptions& options);

}  // namespace backplane::runtime
