// Which queue families Vulkan's devices work and copy on.
#include "queues.hpp"

#include <gtest/gtest.h>

namespace backplane::vulkan {
namespace {

constexpr VkQueueFlags kGraphics = VK_QUEUE_GRAPHICS_BIT, kCompute = VK_QUEUE_COMPUTE_BIT, kTransfer = VK_QUEUE_TRANSFER_BIT,
                       kSparse = VK_QUEUE_SPARSE_BINDING_BIT;

std::optional<Families> choose(const std::vector<std::pair<VkQueueFlags, uint32_t>>& flags) {
    std::vector<VkQueueFamilyProperties> families;
    for (const auto& [bits, count] : flags) families.push_back({bits, count, 0, {}});
    return choose_families(families);
}

TEST(QueueFamilies, WorkGoesWhereThereAreNoGraphicsAndCopiesWhereThereIsNothingElse) {
    const auto of_nvidia = choose({{kGraphics | kCompute | kTransfer | kSparse, 16},
                                   {kTransfer | kSparse, 2},
                                   {kCompute | kTransfer | kSparse, 8},
                                   {kTransfer | kSparse | VK_QUEUE_VIDEO_DECODE_BIT_KHR, 7}});
    ASSERT_TRUE(of_nvidia);
    EXPECT_EQ(of_nvidia->work, 2U);
    EXPECT_EQ(of_nvidia->copies, 1U);
    EXPECT_EQ(of_nvidia->copy_queues, 2U);
}

TEST(QueueFamilies, OneForAllIsTakenAndOneWithoutQueuesIsNot) {
    const auto of_software = choose({{kGraphics | kCompute | kTransfer, 1}, {kCompute, 0}, {kTransfer, 0}});
    ASSERT_TRUE(of_software);
    EXPECT_EQ(of_software->work, 0U);
    EXPECT_EQ(of_software->copy_queues, 0U);
    EXPECT_FALSE(choose({{kGraphics, 1}, {kTransfer, 1}})) << "nothing computes there";
    EXPECT_FALSE(choose({}));
}

}  // namespace
}  // namespace backplane::vulkan
