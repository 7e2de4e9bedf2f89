// Whose turn it is among devices that share a network.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "backplane/context.hpp"

namespace backplane::runtime {

// Device `first` first, those before it next, those behind them last: who stands in for whom where each device has a part. first < devices.size().
inline std::vector<Device> with_first(std::vector<Device> devices, size_t first) {
    const auto taken = devices.begin() + static_cast<std::ptrdiff_t>(first);
    std::rotate(devices.begin(), taken, taken + 1);
    return devices;
}

}  // namespace backplane::runtime
