// Where the drivers that tests use are registered.
#pragma once

#include <filesystem>
#include <string>
#include <system_error>

namespace backplane::test {

// The file by which the system's loader knows lavapipe or PoCL; empty: it is not installed.
inline std::string driver_file(const std::string& backend) {
    const std::filesystem::path folder = backend == "vulkan" ? "/usr/share/vulkan/icd.d" : "/etc/OpenCL/vendors";
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
        const std::string name = entry.path().filename().string();
        if (name.rfind(backend == "vulkan" ? "lvp_icd" : "pocl", 0) == 0) return entry.path().string();
    }
    return {};
}

}  // namespace backplane::test
