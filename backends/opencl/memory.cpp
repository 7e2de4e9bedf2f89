#include "memory.hpp"

#include <algorithm>

namespace backplane::opencl {

namespace {

constexpr uint64_t kBlockBytes = uint64_t{16} << 20;
constexpr uint64_t kSharedMost = uint64_t{2} << 20;  // larger buffers have memory of their own

}  // namespace

Memory::Memory(const PhysicalDevice& physical, const Functions& cl, cl_context context, cl_command_queue queue)
    : physical_(physical), cl_(cl), context_(context), queue_(queue) {}

uint64_t Memory::rounded(uint64_t size) const {
    const uint64_t alignment = std::max<uint64_t>(256, physical_.can.storage_alignment);
    return (size + alignment - 1) / alignment * alignment;
}

std::unique_ptr<Block> Memory::make_block(uint64_t size) {
    const std::string attempted = "allocate " + std::to_string(size) + " bytes on " + physical_.name;
    if (physical_.can.most_allocation != 0 && size > physical_.can.most_allocation)
        throw sdk::Failure(BP_NO_DEVICE_MEMORY, attempted + ": one allocation may have " +
                                                    std::to_string(physical_.can.most_allocation) + "; use smaller tiles");
    auto block = std::make_unique<Block>();
    block->size = size;
    cl_int result = CL_SUCCESS;
    const cl_mem_flags flags = CL_MEM_READ_WRITE | (physical_.can.unified ? CL_MEM_ALLOC_HOST_PTR : 0);
    block->memory = {cl_.CreateBuffer(context_, flags, size, nullptr, &result), cl_.ReleaseMemObject};
    check(result, attempted);
    // Drivers allocate at first use; what does not fit must be known now.
    cl_mem memory = block->memory.get();
    check(cl_.EnqueueMigrateMemObjects(queue_, 1, &memory, CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED, 0, nullptr, nullptr),
          attempted);
    used_ += size;
    return block;
}

Buffer Memory::create(uint64_t size) {
    const std::lock_guard lock(mutex_);
    Buffer buffer;
    buffer.size = size;
    buffer.id = ++next_id_;
    if (size == 0) return buffer;
    if (physical_.can.most_allocation != 0 && size > physical_.can.most_allocation)
        throw sdk::Failure(BP_NO_DEVICE_MEMORY, "allocate " + std::to_string(size) + " bytes on " + physical_.name +
                                                    ": one allocation may have " +
                                                    std::to_string(physical_.can.most_allocation) + "; use smaller tiles");
    const uint64_t room = rounded(size);
    if (room > kSharedMost) {
        own_.push_back(make_block(size));
        buffer.block = own_.back().get();
        return buffer;
    }
    for (const auto& block : shared_)
        if (block->free.take(room, buffer.offset)) {
            buffer.block = block.get();
            return buffer;
        }
    shared_.push_back(make_block(kBlockBytes));
    buffer.block = shared_.back().get();
    buffer.block->free = gpu::FreeList(kBlockBytes);
    buffer.block->free.take(room, buffer.offset);
    return buffer;
}

Buffer Memory::import(void* memory, uint64_t size) {
    const auto refuse = [&](const std::string& why) {
        return sdk::Failure(BP_UNSUPPORTED, "buffer_import on " + physical_.name + ": " + why + "; copy it instead");
    };
    const uint64_t alignment = physical_.can.import_alignment;
    if (!physical_.can.import) throw refuse("it has memory of its own, and would copy");
    if (memory == nullptr || size == 0 || reinterpret_cast<uintptr_t>(memory) % alignment != 0)
        throw refuse("the address must be a multiple of " + std::to_string(alignment));
    if (size > physical_.can.most_allocation)
        throw refuse("one buffer may have " + std::to_string(physical_.can.most_allocation) + " bytes");
    auto block = std::make_unique<Block>();
    block->size = size;
    block->imported = true;
    cl_int result = CL_SUCCESS;
    block->memory = {cl_.CreateBuffer(context_, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, size, memory, &result),
                     cl_.ReleaseMemObject};
    if (result != CL_SUCCESS) throw refuse("the driver answers " + name_of(result));
    const std::lock_guard lock(mutex_);
    used_ += size;
    own_.push_back(std::move(block));
    Buffer buffer;
    buffer.block = own_.back().get();
    buffer.size = size;
    buffer.id = ++next_id_;
    return buffer;
}

void Memory::close(const Buffer& buffer) noexcept {
    if (buffer.block == nullptr) return;
    const std::lock_guard lock(mutex_);
    const auto erase = [&](std::vector<std::unique_ptr<Block>>& from) {
        const auto found = std::find_if(from.begin(), from.end(), [&](const auto& b) { return b.get() == buffer.block; });
        if (found == from.end()) return false;
        used_ -= (*found)->size;
        from.erase(found);
        return true;
    };
    if (erase(own_)) return;
    const uint64_t free = buffer.block->free.give(buffer.offset, rounded(buffer.size));
    // One empty block is kept, so that a single small buffer does not come and go with its block.
    if (free == buffer.block->size && shared_.size() > 1) erase(shared_);
}

}  // namespace backplane::opencl
