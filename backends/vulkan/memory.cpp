// Memory of a device, each piece with one buffer over all of it.
#include <bit>

#include "device.hpp"

namespace backplane::vulkan {

namespace {

constexpr VkBufferUsageFlags kUsage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT |
                                      VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
constexpr VkMemoryPropertyFlags kHost = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
constexpr uint64_t kFew = uint64_t{16} << 20;  // a stretch that small buffers share

// `few` bytes of the device's: where the host may write them, if that is all of its memory and no window that many programs share.
// UINT32_MAX: there is none.
uint32_t type_for(const Device& device, uint32_t allowed, gpu::Placement placement, bool few) {
    constexpr VkMemoryPropertyFlags local = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
    constexpr VkMemoryPropertyFlags cached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
    const bool pinned = placement == gpu::Placement::pinned;
    const VkMemoryPropertyFlags required = pinned ? kHost : local;
    uint32_t best = UINT32_MAX;
    int best_score = -1;
    const VkPhysicalDeviceMemoryProperties& memory = device.physical.memory;
    for (uint32_t i = 0; i < memory.memoryTypeCount; ++i) {
        const VkMemoryPropertyFlags flags = memory.memoryTypes[i].propertyFlags;
        if ((allowed >> i & 1) == 0 || (flags & required) != required) continue;
        if ((flags & (VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT | VK_MEMORY_PROPERTY_PROTECTED_BIT)) != 0) continue;
        const bool whole = memory.memoryHeaps[memory.memoryTypes[i].heapIndex].size == device.physical.memory_total;
        const VkMemoryPropertyFlags wanted = pinned               ? cached
                                             : device.can.unified ? kHost | cached
                                             : few && whole       ? kHost
                                                                  : 0;
        // What is wanted counts most; what is not wanted (a window to a GPU's memory is small, and slow to read) counts against.
        const int score = 8 * std::popcount(flags & wanted) + 8 - std::popcount(flags & ~wanted & (kHost | cached | local));
        if (score > best_score) {
            best_score = score;
            best = i;
        }
    }
    return best;
}

// A buffer that every queue may use, without memory.
Owned<VkBuffer> make_buffer(const Device& device, uint64_t bytes, const void* next, const std::string& attempted) {
    const uint32_t families[2] = {device.physical.queue_family, device.physical.copy_family};
    VkBufferCreateInfo info{VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
    info.pNext = next;
    info.size = bytes;
    info.usage = kUsage | (device.can.warpgroup_products ? VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT : 0);
    if (device.physical.copy_queues != 0) {
        info.sharingMode = VK_SHARING_MODE_CONCURRENT;
        info.queueFamilyIndexCount = 2;
        info.pQueueFamilyIndices = families;
    }
    return device.make<VkBuffer>(device.vk.CreateBuffer, info, device.vk.DestroyBuffer, attempted);
}

// What memory is allocated with whose buffer has an address.
constexpr VkMemoryAllocateFlagsInfo kAddressed{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO, nullptr,
                                               VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT, 0};
const void* flags_for(const Device& device) { return device.can.warpgroup_products ? &kAddressed : nullptr; }

void look_up_address(const Device& device, Block& block) {
    if (!device.can.warpgroup_products) return;
    VkBufferDeviceAddressInfo info{VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO};
    info.buffer = block.buffer.get();
    block.address = device.vk.GetBufferDeviceAddress(device.handle, &info);
}

}  // namespace

Block Api::allocate(Device& device, uint64_t bytes, gpu::Placement placement) {
    const std::string attempted = "allocate " + std::to_string(bytes) + " bytes on " + device.physical.name;
    const bool few = bytes <= kFew, mapped = few || device.can.unified || placement == gpu::Placement::pinned;
    Block block;
    block.buffer = make_buffer(device, bytes, nullptr, attempted);
    VkMemoryRequirements needs{};
    device.vk.GetBufferMemoryRequirements(device.handle, block.buffer.get(), &needs);
    VkMemoryAllocateInfo allocate{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
    allocate.pNext = flags_for(device);
    allocate.allocationSize = needs.size;
    allocate.memoryTypeIndex = type_for(device, needs.memoryTypeBits, placement, few);
    if (allocate.memoryTypeIndex == UINT32_MAX)
        throw sdk::Failure(BP_NO_DEVICE_MEMORY, attempted + ": the driver has no memory type for it; use another device");
    block.memory = device.make<VkDeviceMemory>(device.vk.AllocateMemory, allocate, device.vk.FreeMemory, attempted);
    check(device.vk.BindBufferMemory(device.handle, block.buffer.get(), block.memory.get(), 0), attempted);
    look_up_address(device, block);
    const auto flags = device.physical.memory.memoryTypes[allocate.memoryTypeIndex].propertyFlags;
    if ((flags & kHost) == kHost && mapped) {
        void* at = nullptr;
        check(device.vk.MapMemory(device.handle, block.memory.get(), 0, VK_WHOLE_SIZE, 0, &at), attempted + ", map it");
        block.mapped = static_cast<std::byte*>(at);
    }
    return block;
}

Block Api::import(Device& device, void* memory, uint64_t bytes) {
    const auto refuse = [&](const std::string& why) {
        return sdk::Failure(BP_UNSUPPORTED, "buffer_import on " + device.physical.name + ": " + why + "; copy it instead");
    };
    if (device.vk.GetMemoryHostPointerPropertiesEXT == nullptr)
        throw refuse("the driver has no VK_EXT_external_memory_host");
    if (bytes % device.can.import_alignment != 0)
        throw refuse("the size must be a multiple of " + std::to_string(device.can.import_alignment));
    constexpr auto type = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT;
    VkMemoryHostPointerPropertiesEXT properties{VK_STRUCTURE_TYPE_MEMORY_HOST_POINTER_PROPERTIES_EXT};
    if (device.vk.GetMemoryHostPointerPropertiesEXT(device.handle, type, memory, &properties) != VK_SUCCESS)
        throw refuse("the driver does not take this kind of memory");
    VkExternalMemoryBufferCreateInfo external{VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO};
    external.handleTypes = type;
    Block block;
    block.buffer = make_buffer(device, bytes, &external, "import host memory on " + device.physical.name);
    VkMemoryRequirements needs{};
    device.vk.GetBufferMemoryRequirements(device.handle, block.buffer.get(), &needs);
    VkImportMemoryHostPointerInfoEXT pointer{VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT};
    pointer.pNext = flags_for(device);
    pointer.handleType = type;
    pointer.pHostPointer = memory;
    VkMemoryAllocateInfo allocate{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
    allocate.pNext = &pointer;
    allocate.allocationSize = bytes;
    allocate.memoryTypeIndex =
        type_for(device, properties.memoryTypeBits & needs.memoryTypeBits, gpu::Placement::pinned, false);
    VkDeviceMemory made = VK_NULL_HANDLE;
    VkResult result = VK_ERROR_INVALID_EXTERNAL_HANDLE;
    if (allocate.memoryTypeIndex != UINT32_MAX && needs.size <= bytes)
        result = device.vk.AllocateMemory(device.handle, &allocate, nullptr, &made);
    block.memory = {made, {device.handle, device.vk.FreeMemory}};
    if (result == VK_SUCCESS) result = device.vk.BindBufferMemory(device.handle, block.buffer.get(), block.memory.get(), 0);
    if (result != VK_SUCCESS) throw refuse("the driver answers " + name_of(result));
    look_up_address(device, block);
    block.mapped = static_cast<std::byte*>(memory);
    return block;
}

}  // namespace backplane::vulkan
