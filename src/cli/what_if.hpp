// Devices that `plan` is asked about.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backplane/cost.hpp"
#include "backplane/runtime.hpp"

namespace backplane::cli {

// A device that is asked about: one of this machine, or one that a file describes, which compiles as one of this machine does.
struct Asked {
    Device device;
    std::string name;                  // its id, or the file's name for it
    uint64_t memory = 0;               // of one that is described
    std::optional<DeviceCosts> costs;  // of one that is described, where it says them
};

// Those that the file of --what-if describes. Throws Error in one line that names the file.
std::vector<Asked> described(const Context& context, const std::string& path);

}  // namespace backplane::cli
