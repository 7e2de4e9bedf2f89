// Buffers: small ones share blocks of device memory, large ones have their own.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "common/gpu/free_list.hpp"
#include "instance.hpp"

namespace backplane::opencl {

class Device;

// A stretch of device memory that is one memory object.
struct Block {
    Handle<cl_mem> memory;
    uint64_t size = 0;
    bool imported = false;  // memory of the host's own
    gpu::FreeList free;     // of shared blocks
};

struct Buffer {
    Block* block = nullptr;  // null: no bytes
    uint64_t offset = 0;     // in the block
    uint64_t size = 0;
    uint64_t id = 0;  // never used again, unlike handles and addresses
    Device* device = nullptr;

    [[nodiscard]] cl_mem memory() const { return block != nullptr ? block->memory.get() : nullptr; }
};

class Memory {
public:
    Memory(const PhysicalDevice& physical, const Functions& cl, cl_context context, cl_command_queue queue);
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;

    // Throws Failure(BP_NO_DEVICE_MEMORY). [any]
    Buffer create(uint64_t size);
    // Throws Failure(BP_UNSUPPORTED) when the device cannot use the memory in place. [any]
    Buffer import(void* memory, uint64_t size);
    void close(const Buffer& buffer) noexcept;
    [[nodiscard]] uint64_t used() const { return used_; }

private:
    std::unique_ptr<Block> make_block(uint64_t size);
    [[nodiscard]] uint64_t rounded(uint64_t size) const;

    const PhysicalDevice& physical_;
    const Functions& cl_;
    cl_context context_;
    cl_command_queue queue_;
    std::mutex mutex_;
    std::vector<std::unique_ptr<Block>> shared_, own_;
    std::atomic<uint64_t> used_ = 0;
    uint64_t next_id_ = 0;
};

}  // namespace backplane::opencl
