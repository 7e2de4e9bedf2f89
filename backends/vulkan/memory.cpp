#include "memory.hpp"

#include <algorithm>
#include <bit>

namespace backplane::vulkan {

namespace {

constexpr uint64_t kBlockBytes = uint64_t{16} << 20;
constexpr uint64_t kSharedMost = uint64_t{2} << 20;  // larger buffers have memory of their own
constexpr VkBufferUsageFlags kUsage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT |
                                      VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;

uint64_t rounded(uint64_t size, uint64_t alignment) { return (size + alignment - 1) / alignment * alignment; }

}  // namespace

Memory::Memory(const PhysicalDevice& physical, const Abilities& can, const DeviceFunctions& vk, VkDevice device)
    : physical_(physical), can_(can), vk_(vk), device_(device) {}

Memory::~Memory() {
    for (auto* blocks : {&shared_, &own_})
        for (const auto& block : *blocks) release(*block);
}

void Memory::release(Block& block) noexcept {
    vk_.DestroyBuffer(device_, block.buffer, nullptr);
    vk_.FreeMemory(device_, block.memory, nullptr);
    used_ -= block.size;
}

uint32_t Memory::type_for(uint32_t allowed, Placement placement) const {
    constexpr VkMemoryPropertyFlags host = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    constexpr VkMemoryPropertyFlags local = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
    constexpr VkMemoryPropertyFlags cached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
    VkMemoryPropertyFlags required = host;
    VkMemoryPropertyFlags wanted = cached;
    if (placement == Placement::device) {
        required = local;
        wanted = can_.unified ? host | cached : 0;
    } else if (placement == Placement::upload) {
        wanted = 0;
    }
    uint32_t best = UINT32_MAX;
    int best_score = -1;
    for (uint32_t i = 0; i < physical_.memory.memoryTypeCount; ++i) {
        const VkMemoryPropertyFlags flags = physical_.memory.memoryTypes[i].propertyFlags;
        if ((allowed >> i & 1) == 0 || (flags & required) != required) continue;
        if ((flags & (VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT | VK_MEMORY_PROPERTY_PROTECTED_BIT)) != 0) continue;
        // What is wanted counts most; what is not wanted (host access to a GPU's memory is a small, slow window) counts against.
        const int score = 8 * std::popcount(flags & wanted) + 8 - std::popcount(flags & ~wanted & (host | cached | local));
        if (score > best_score) {
            best_score = score;
            best = i;
        }
    }
    if (best == UINT32_MAX)
        throw sdk::Failure(BP_NO_DEVICE_MEMORY, "allocate memory on " + physical_.name +
                                                    ": the driver has no memory type for it; use another device");
    return best;
}

std::unique_ptr<Block> Memory::make_block(uint64_t size, Placement placement) {
    const std::string attempted = "allocate " + std::to_string(size) + " bytes on " + physical_.name;
    if (can_.most_allocation != 0 && size > can_.most_allocation)
        throw sdk::Failure(BP_NO_DEVICE_MEMORY, attempted + ": one allocation may have " +
                                                    std::to_string(can_.most_allocation) + "; use smaller tiles");
    auto block = std::make_unique<Block>();
    block->size = size;
    VkBufferCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
    info.size = size;
    info.usage = kUsage;
    check(vk_.CreateBuffer(device_, &info, nullptr, &block->buffer), attempted);
    try {
        VkMemoryRequirements needs{};
        vk_.GetBufferMemoryRequirements(device_, block->buffer, &needs);
        VkMemoryAllocateInfo allocate{};
        allocate.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
        allocate.allocationSize = needs.size;
        allocate.memoryTypeIndex = type_for(needs.memoryTypeBits, placement);
        check(vk_.AllocateMemory(device_, &allocate, nullptr, &block->memory), attempted);
        check(vk_.BindBufferMemory(device_, block->buffer, block->memory, 0), attempted);
        constexpr VkMemoryPropertyFlags host = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
        const auto flags = physical_.memory.memoryTypes[allocate.memoryTypeIndex].propertyFlags;
        if ((flags & host) == host && (placement != Placement::device || can_.unified)) {
            void* at = nullptr;
            check(vk_.MapMemory(device_, block->memory, 0, VK_WHOLE_SIZE, 0, &at), attempted + ", map it");
            block->mapped = static_cast<std::byte*>(at);
        }
    } catch (...) {
        vk_.DestroyBuffer(device_, block->buffer, nullptr);
        if (block->memory != VK_NULL_HANDLE) vk_.FreeMemory(device_, block->memory, nullptr);
        throw;
    }
    used_ += size;
    return block;
}

Buffer Memory::create(uint64_t size, Placement placement) {
    const std::lock_guard lock(mutex_);
    Buffer buffer;
    buffer.size = size;
    buffer.id = ++next_id_;
    if (size == 0) return buffer;
    const uint64_t alignment = std::max<uint64_t>(256, can_.storage_alignment);
    if (size > can_.most_allocation - alignment && can_.most_allocation != 0)
        throw sdk::Failure(BP_NO_DEVICE_MEMORY, "allocate " + std::to_string(size) + " bytes on " + physical_.name +
                                                    ": one allocation may have " + std::to_string(can_.most_allocation) +
                                                    "; use smaller tiles");
    const uint64_t room = rounded(size, alignment);
    if (placement == Placement::device && room <= kSharedMost) {
        for (const auto& block : shared_)
            if (block->free.take(room, buffer.offset)) {
                buffer.block = block.get();
                return buffer;
            }
        shared_.push_back(make_block(kBlockBytes, placement));
        shared_.back()->free = gpu::FreeList(kBlockBytes);
        buffer.block = shared_.back().get();
        buffer.block->free.take(room, buffer.offset);
        return buffer;
    }
    own_.push_back(make_block(room, placement));
    buffer.block = own_.back().get();
    return buffer;
}

Buffer Memory::import(void* memory, uint64_t size) {
    const uint64_t alignment = can_.import_alignment;
    const auto refuse = [&](const std::string& why) {
        return sdk::Failure(BP_UNSUPPORTED, "buffer_import on " + physical_.name + ": " + why + "; copy it instead");
    };
    if (!can_.import || vk_.GetMemoryHostPointerPropertiesEXT == nullptr)
        throw refuse("the driver has no VK_EXT_external_memory_host");
    if (reinterpret_cast<uintptr_t>(memory) % alignment != 0 || size % alignment != 0 || size == 0 || memory == nullptr)
        throw refuse("address and size must be multiples of " + std::to_string(alignment));
    constexpr auto type = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT;
    VkMemoryHostPointerPropertiesEXT properties{VK_STRUCTURE_TYPE_MEMORY_HOST_POINTER_PROPERTIES_EXT};
    if (vk_.GetMemoryHostPointerPropertiesEXT(device_, type, memory, &properties) != VK_SUCCESS)
        throw refuse("the driver does not take this kind of memory");
    VkExternalMemoryBufferCreateInfo external{VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO};
    external.handleTypes = type;
    VkBufferCreateInfo info{VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
    info.pNext = &external;
    info.size = size;
    info.usage = kUsage;
    auto block = std::make_unique<Block>();
    block->size = size;
    check(vk_.CreateBuffer(device_, &info, nullptr, &block->buffer), "import host memory on " + physical_.name);
    VkMemoryRequirements needs{};
    vk_.GetBufferMemoryRequirements(device_, block->buffer, &needs);
    constexpr VkMemoryPropertyFlags host = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    uint32_t index = 0;
    const uint32_t allowed = properties.memoryTypeBits & needs.memoryTypeBits;
    while (index < physical_.memory.memoryTypeCount &&
           ((allowed >> index & 1) == 0 || (physical_.memory.memoryTypes[index].propertyFlags & host) != host))
        ++index;
    VkImportMemoryHostPointerInfoEXT pointer{VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT};
    pointer.handleType = type;
    pointer.pHostPointer = memory;
    VkMemoryAllocateInfo allocate{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
    allocate.pNext = &pointer;
    allocate.allocationSize = size;
    allocate.memoryTypeIndex = index;
    VkResult result = VK_ERROR_INVALID_EXTERNAL_HANDLE;
    if (index < physical_.memory.memoryTypeCount && needs.size <= size)
        result = vk_.AllocateMemory(device_, &allocate, nullptr, &block->memory);
    if (result == VK_SUCCESS) result = vk_.BindBufferMemory(device_, block->buffer, block->memory, 0);
    if (result != VK_SUCCESS) {
        vk_.DestroyBuffer(device_, block->buffer, nullptr);
        if (block->memory != VK_NULL_HANDLE) vk_.FreeMemory(device_, block->memory, nullptr);
        throw refuse("the driver answers " + name_of(result));
    }
    block->mapped = static_cast<std::byte*>(memory);
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
    const auto mine = std::find_if(own_.begin(), own_.end(), [&](const auto& b) { return b.get() == buffer.block; });
    if (mine != own_.end()) {
        release(**mine);
        own_.erase(mine);
        return;
    }
    const uint64_t room = rounded(buffer.size, std::max<uint64_t>(256, can_.storage_alignment));
    const uint64_t size = buffer.block->free.give(buffer.offset, room);
    // One empty block is kept, so that a single small buffer does not come and go with its block.
    if (size != buffer.block->size || shared_.size() == 1) return;
    const auto empty = std::find_if(shared_.begin(), shared_.end(), [&](const auto& b) { return b.get() == buffer.block; });
    release(**empty);
    shared_.erase(empty);
}

}  // namespace backplane::vulkan
