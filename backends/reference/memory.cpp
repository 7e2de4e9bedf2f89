#include "memory.hpp"

#include <cstdlib>
#include <cstring>
#include <string>

namespace backplane::reference {

namespace {

// Memory of the host, when it offers any: an application may want to count or place it.
void* allocate(const bp_host* host, uint64_t size) {
    if (size > PTRDIFF_MAX) return nullptr;
    if (BP_HAS(host, allocate) && BP_HAS(host, release)) return host->allocate(host->self, size, alignof(std::max_align_t));
    return std::malloc(size);
}

void release(const bp_host* host, void* memory) {
    if (BP_HAS(host, allocate) && BP_HAS(host, release)) {
        host->release(host->self, memory);
    } else {
        std::free(memory);
    }
}

// The bytes of one side of a copy. Offsets come from the host: no sum of them is formed before it is known to fit.
std::byte* side(const char* name, bp_buffer* buffer, void* host, uint64_t offset, uint64_t bytes) {
    const std::string what = std::string("copy: its ") + name + " ";
    if ((buffer == nullptr) == (host == nullptr) && (buffer != nullptr || bytes != 0))
        throw sdk::Failure(BP_INVALID, what + "must be one of a buffer and host memory");
    if (buffer == nullptr) return static_cast<std::byte*>(host) + (host != nullptr ? offset : 0);
    const auto& b = *reinterpret_cast<const Buffer*>(buffer);
    if (!b.contains(offset, bytes))
        throw sdk::Failure(BP_INVALID, what + "has " + std::to_string(b.size) + " bytes, " + std::to_string(bytes) + " at " +
                                           std::to_string(offset) + " lie outside");
    return b.data + offset;
}

}  // namespace

std::unique_ptr<Buffer> create_buffer(Device& device, uint64_t size) {
    auto buffer = std::make_unique<Buffer>();
    buffer->size = size;
    buffer->owner = &device;
    if (size != 0) {
        buffer->data = static_cast<std::byte*>(allocate(device.module.host, size));
        if (buffer->data == nullptr)
            throw sdk::Failure(BP_NO_DEVICE_MEMORY,
                               "cannot create a buffer of " + std::to_string(size) + " bytes: no memory");
    }
    device.bytes_used += size;
    return buffer;
}

std::unique_ptr<Buffer> import_buffer(void* memory, uint64_t size) {
    if (memory == nullptr && size != 0) throw sdk::Failure(BP_INVALID, "cannot import host memory: the pointer is null");
    auto buffer = std::make_unique<Buffer>();
    buffer->data = static_cast<std::byte*>(memory);
    buffer->size = size;
    return buffer;
}

void close_buffer(std::unique_ptr<Buffer> buffer) {
    if (buffer == nullptr || buffer->owner == nullptr) return;
    buffer->owner->bytes_used -= buffer->size;
    if (buffer->data != nullptr) release(buffer->owner->module.host, buffer->data);
}

void copy(Device& device, const bp_copy& request) {
    if ((request.flags & ~uint32_t{BP_COPY_ZERO}) != 0)
        throw sdk::Failure(BP_UNSUPPORTED, "copy: flags " + std::to_string(request.flags) + " are not known here");
    const bool zero = (request.flags & BP_COPY_ZERO) != 0;
    if (zero && (request.from_buffer != nullptr || request.from_host != nullptr))
        throw sdk::Failure(BP_INVALID, "copy: BP_COPY_ZERO takes no source, one is given");
    const std::byte* from =
        zero ? nullptr
             : side("source", request.from_buffer, const_cast<void*>(request.from_host), request.from_offset, request.bytes);
    std::byte* to = side("destination", request.to_buffer, request.to_host, request.to_offset, request.bytes);
    device.queues.submit({"copy", request.queue, request.wait, request.signal, nullptr},
                         [zero, from, to, bytes = request.bytes] {
                             if (bytes == 0) return;
                             if (zero) {
                                 std::memset(to, 0, bytes);
                             } else {
                                 std::memmove(to, from, bytes);  // both sides may be one buffer
                             }
                         });
}

}  // namespace backplane::reference
