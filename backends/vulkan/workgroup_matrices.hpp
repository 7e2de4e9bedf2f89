// VK_KHR_cooperative_matrix and VK_NV_cooperative_matrix2, as far as they are used here: headers of 2023 have neither. Values and layouts are
// those of the Vulkan specification.
#pragma once

#include <algorithm>
#include <vector>

#include "api.hpp"

namespace backplane::vulkan {

inline constexpr const char* kMatrixExtensions[] = {"VK_KHR_cooperative_matrix", "VK_NV_cooperative_matrix2"};

struct MatrixFeatures {
    VkStructureType sType = static_cast<VkStructureType>(1000506000);
    void* pNext = nullptr;
    VkBool32 matrices = VK_FALSE, robust = VK_FALSE;
};

struct WorkgroupMatrixFeatures {
    VkStructureType sType = static_cast<VkStructureType>(1000593000);
    void* pNext = nullptr;
    VkBool32 workgroup = VK_FALSE, any_size = VK_FALSE, reductions = VK_FALSE, conversions = VK_FALSE, by_element = VK_FALSE,
             tensors = VK_FALSE, blocks = VK_FALSE;
    // What the kernels need.
    void ask() { workgroup = any_size = reductions = conversions = by_element = tensors = VK_TRUE; }
    [[nodiscard]] bool enough() const {
        return std::min({workgroup, any_size, reductions, conversions, by_element, tensors}) == VK_TRUE;
    }
};

// A kind of matrices that may be multiplied, and of which numbers their extents are multiples.
struct WorkgroupMatrixKind {
    VkStructureType sType = static_cast<VkStructureType>(1000593001);
    void* pNext = nullptr;
    uint32_t rows = 0, columns = 0, depth = 0;
    uint32_t a = 0, b = 0, c = 0, result = 0;  // VkComponentTypeKHR: 0 is f16, 1 is f32
    VkBool32 saturates = VK_FALSE;
    uint32_t scope = 0, invocations = 0;  // VkScopeKHR: 2 is a workgroup
};

using ListWorkgroupMatrices = VkResult(VKAPI_PTR*)(VkPhysicalDevice, uint32_t*, WorkgroupMatrixKind*);

// Do workgroups of 128 multiply matrices of f16 of multiples of 32 x 16 by 16 x 16, with sums in float32?
inline bool has_workgroup_matrices(PFN_vkVoidFunction function, VkPhysicalDevice device) {
    const auto list = reinterpret_cast<ListWorkgroupMatrices>(function);
    uint32_t count = 0;
    if (list == nullptr || list(device, &count, nullptr) != VK_SUCCESS || count == 0) return false;
    std::vector<WorkgroupMatrixKind> all(count);
    if (list(device, &count, all.data()) < 0) return false;
    return std::any_of(all.begin(), all.end(), [](const WorkgroupMatrixKind& m) {
        return m.a == 0 && m.b == 0 && m.c == 1 && m.result == 1 && m.scope == 2 && m.invocations == 128 &&
               32 % m.rows == 0 && 16 % m.columns == 0 && 16 % m.depth == 0;
    });
}

}  // namespace backplane::vulkan
