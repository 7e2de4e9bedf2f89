// Heaps, options, buffers and copies.
#include <string>

#include "handles.hpp"

namespace backplane::reference {

namespace {

constexpr size_t kAlignment = alignof(std::max_align_t);

}  // namespace

Buffer::Buffer(Device& device, uint64_t bytes) : size(bytes), owner(&device) {
    if (size != 0) {
        // Memory of the host, when it offers any: an application may want to count or place it.
        if (size <= PTRDIFF_MAX) data = static_cast<std::byte*>(device.host.allocate(size, kAlignment));
        if (data == nullptr)
            throw sdk::Failure(BP_NO_DEVICE_MEMORY,
                               "cannot create a buffer of " + std::to_string(size) + " bytes: no memory");
    }
    device.bytes_used += size;
}

Buffer::Buffer(void* memory, uint64_t bytes) : data(static_cast<std::byte*>(memory)), size(bytes) {
    if (memory == nullptr && size != 0) backend::invalid("cannot import host memory: the pointer is null");
}

Buffer::~Buffer() {
    if (owner == nullptr) return;
    owner->bytes_used -= size;
    if (data != nullptr) owner->host.release(data, kAlignment);
}

std::vector<bp_heap> Device::heaps() const {
    bp_heap heap{};
    // Neither EXACT nor BUDGET: how much the machine has is not this module's to know.
    heap.flags = BP_MEM_UNIFIED | BP_MEM_HOST_VISIBLE;
    heap.used_by_us = bytes_used;
    heap.alignment = kAlignment;
    return {heap};
}

void Device::set_option(const bp_option& option) {
    throw sdk::Failure(BP_NOT_FOUND, std::string("the reference has no option '") + option.name + "', it has none");
}

std::unique_ptr<Buffer> Device::create(uint32_t heap, uint64_t size) {
    if (heap != 0) backend::invalid("cannot create a buffer on heap " + std::to_string(heap) + ": there is heap 0 only");
    queues.expect_there("buffer_create");
    return std::make_unique<Buffer>(*this, size);
}

void Device::copy(const bp_copy& c) {
    const auto sides = backend::sides_of(c, BP_COPY_ZERO, buffer_of);
    const auto at = [](const auto& side) { return side.buffer != nullptr ? side.buffer->data + side.offset : side.host; };
    queues.submit({"copy", c.queue, c.wait, c.signal, nullptr},
                  [from = sides.zero ? nullptr : at(sides.from), to = at(sides.to), bytes = c.bytes] {
                      backend::copy_in_memory(from, to, bytes);
                  });
}

}  // namespace backplane::reference
