#include "api.hpp"

namespace backplane::vulkan {

namespace {

#define BP_VK(name, ...) \
    { name, #name __VA_OPT__(, ) __VA_ARGS__ }
constexpr gpu::Answer kAnswers[] = {
    BP_VK(VK_NOT_READY),
    BP_VK(VK_TIMEOUT, BP_TIMEOUT),
    BP_VK(VK_INCOMPLETE),
    BP_VK(VK_ERROR_OUT_OF_HOST_MEMORY, BP_NO_HOST_MEMORY),
    BP_VK(VK_ERROR_OUT_OF_DEVICE_MEMORY, BP_NO_DEVICE_MEMORY),
    BP_VK(VK_ERROR_INITIALIZATION_FAILED),
    BP_VK(VK_ERROR_DEVICE_LOST, BP_DEVICE_LOST),
    BP_VK(VK_ERROR_MEMORY_MAP_FAILED),
    BP_VK(VK_ERROR_LAYER_NOT_PRESENT),
    BP_VK(VK_ERROR_EXTENSION_NOT_PRESENT, BP_UNSUPPORTED),
    BP_VK(VK_ERROR_FEATURE_NOT_PRESENT, BP_UNSUPPORTED),
    BP_VK(VK_ERROR_INCOMPATIBLE_DRIVER, BP_UNSUPPORTED),
    BP_VK(VK_ERROR_TOO_MANY_OBJECTS, BP_NO_DEVICE_MEMORY),
    BP_VK(VK_ERROR_FRAGMENTED_POOL, BP_NO_DEVICE_MEMORY),
    BP_VK(VK_ERROR_OUT_OF_POOL_MEMORY, BP_NO_DEVICE_MEMORY),
    BP_VK(VK_ERROR_INVALID_EXTERNAL_HANDLE, BP_UNSUPPORTED),
};
#undef BP_VK

}  // namespace

std::string name_of(VkResult result) {
    const char* name = gpu::answer_of(kAnswers, result).name;
    return name != nullptr ? name : "VkResult " + std::to_string(static_cast<int>(result));
}

void check(VkResult result, const std::string& attempted) {
    if (result == VK_SUCCESS) return;
    throw gpu::failure_of(gpu::answer_of(kAnswers, result).code, attempted, name_of(result), result);
}

}  // namespace backplane::vulkan
