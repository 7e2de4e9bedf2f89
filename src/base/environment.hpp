// The environment: the only place of the library that reads it, and of the program that changes it.
#pragma once

#include <array>
#include <optional>
#include <string>

namespace backplane::base {

// A variable's value; nothing when it is not set or empty, or when the process runs with more rights than the user who started it.
std::optional<std::string> environment(const char* name);

// Sets a variable that is not set. For programs alone, before their first thread: who else reads the environment meanwhile is not kept from it.
void set_where_unset(const char* name, const char* value) noexcept;

// Set-uid, set-gid, file capabilities: whoever set the environment may not be who the process acts for.
bool privileges_were_raised();

// Variables by which users choose drivers and hide devices from them.
inline constexpr std::array kDeviceVariables{
    "CUDA_VISIBLE_DEVICES",      "NVIDIA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",      "MUSA_VISIBLE_DEVICES",   "ASCEND_RT_VISIBLE_DEVICES",
    "GPU_DEVICE_ORDINAL",        "ONEAPI_DEVICE_SELECTOR", "ZE_AFFINITY_MASK",
    "VK_ICD_FILENAMES",          "VK_DRIVER_FILES",        "VK_ADD_DRIVER_FILES",
    "VK_LOADER_DRIVERS_DISABLE", "MESA_VK_DEVICE_SELECT",  "OCL_ICD_VENDORS",
    "OPENCL_VENDOR_PATH",        "POCL_DEVICES",           "GGML_VK_VISIBLE_DEVICES"};

// What stands between the folders of a list in a variable: ':' or ';'.
char list_separator() noexcept;

}  // namespace backplane::base
