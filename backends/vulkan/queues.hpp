// Which queue families of a device get work, and which get copies.
#pragma once

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan_core.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

namespace backplane::vulkan {

struct Families {
    uint32_t work = 0, copies = 0, copy_queues = 0;  // no queues: no family for copies
};

// One family for work, without graphics where there is one (NVIDIA's driver takes a third less for a submit to it), and, for copies beside
// it, one that does nothing else. Nothing: none for work.
inline std::optional<Families> choose_families(const std::vector<VkQueueFamilyProperties>& families) {
    constexpr VkQueueFlags beside = VK_QUEUE_TRANSFER_BIT | VK_QUEUE_SPARSE_BINDING_BIT | VK_QUEUE_PROTECTED_BIT;
    const auto find = [&](VkQueueFlags with, VkQueueFlags without) {
        return std::find_if(families.begin(), families.end(), [&](const auto& f) {
            return (f.queueFlags & with) != 0 && (f.queueFlags & without) == 0 && f.queueCount != 0;
        });
    };
    auto work = find(VK_QUEUE_COMPUTE_BIT, VK_QUEUE_GRAPHICS_BIT);
    if (work == families.end()) work = find(VK_QUEUE_COMPUTE_BIT, 0);
    if (work == families.end()) return std::nullopt;
    Families chosen{static_cast<uint32_t>(work - families.begin()), 0, 0};
    if (const auto copies = find(VK_QUEUE_TRANSFER_BIT, ~beside); copies != families.end()) {
        chosen.copies = static_cast<uint32_t>(copies - families.begin());
        chosen.copy_queues = std::min(2U, copies->queueCount);
    }
    return chosen;
}

}  // namespace backplane::vulkan
