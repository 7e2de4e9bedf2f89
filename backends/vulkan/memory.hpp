// Buffers: small ones share blocks of device memory, large ones have their own.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "common/gpu/free_list.hpp"
#include "instance.hpp"

namespace backplane::vulkan {

class Device;

// A stretch of device memory with one VkBuffer over all of it.
struct Block {
    VkDeviceMemory memory = VK_NULL_HANDLE;
    VkBuffer buffer = VK_NULL_HANDLE;
    std::byte* mapped = nullptr;  // null: not visible to the host
    uint64_t size = 0;
    gpu::FreeList free;  // of shared blocks
};

struct Buffer {
    Block* block = nullptr;  // null: no bytes
    uint64_t offset = 0;     // in the block
    uint64_t size = 0;
    uint64_t id = 0;  // never used again, unlike handles and addresses
    Device* device = nullptr;

    [[nodiscard]] std::byte* mapped() const {
        return block != nullptr && block->mapped != nullptr ? block->mapped + offset : nullptr;
    }
};

enum class Placement { device, upload, download };

class Memory {
public:
    Memory(const PhysicalDevice& physical, const Abilities& can, const DeviceFunctions& vk, VkDevice device);
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;
    ~Memory();

    // Throws Failure(BP_NO_DEVICE_MEMORY). [any]
    Buffer create(uint64_t size, Placement placement = Placement::device);
    // Throws Failure(BP_UNSUPPORTED) when the driver cannot use the memory in place. [any]
    Buffer import(void* memory, uint64_t size);
    void close(const Buffer& buffer) noexcept;
    [[nodiscard]] uint64_t used() const { return used_; }

private:
    std::unique_ptr<Block> make_block(uint64_t size, Placement placement);
    [[nodiscard]] uint32_t type_for(uint32_t allowed, Placement placement) const;
    void release(Block& block) noexcept;

    const PhysicalDevice& physical_;
    const Abilities& can_;  // the device's
    const DeviceFunctions& vk_;
    VkDevice device_;
    std::mutex mutex_;
    std::vector<std::unique_ptr<Block>> shared_, own_;
    std::atomic<uint64_t> used_ = 0;
    uint64_t next_id_ = 0;
};

}  // namespace backplane::vulkan
