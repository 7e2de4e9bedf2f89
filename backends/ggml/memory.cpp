#include <cstring>

#include "handles.hpp"

namespace backplane::ggml {

namespace {

struct Side {
    DeviceBuffer* buffer;
    std::byte* host;
    uint64_t offset;
};

Side side(const char* name, bp_buffer* buffer, void* host, uint64_t offset, uint64_t bytes) {
    const std::string what = std::string("copy: its ") + name + " ";
    if ((buffer == nullptr) == (host == nullptr) && (buffer != nullptr || bytes != 0))
        throw sdk::Failure(BP_INVALID, what + "must be one of a buffer and host memory");
    auto* b = reinterpret_cast<DeviceBuffer*>(buffer);
    if (b != nullptr && !b->contains(offset, bytes))
        throw sdk::Failure(BP_INVALID, what + "has " + std::to_string(b->size) + " bytes, " + std::to_string(bytes) +
                                           " at " + std::to_string(offset) + " lie outside");
    if (b == nullptr) return {nullptr, static_cast<std::byte*>(host) + (host != nullptr ? offset : 0), 0};
    return {b, b->device.host_memory ? b->start + offset : nullptr, offset};
}

// Bytes of a buffer as a ggml tensor.
Tensor* bytes_of(OpenDevice& device, Context* context, const Side& s, uint64_t bytes) {
    Tensor* t = device.base.new_tensor_4d(context, kI8, static_cast<int64_t>(bytes), 1, 1, 1);
    if (device.base.backend_tensor_alloc(s.buffer->buffer, t, s.buffer->start + s.offset) != kSuccess)
        throw sdk::Failure(BP_INTERNAL, "copy: ggml does not place bytes in its own buffer");
    return t;
}

}  // namespace

DeviceBuffer::DeviceBuffer(OpenDevice& device_, uint64_t bytes)
    : device(device_), size(bytes), serial(device_.next_buffer++) {
    if (bytes == 0) return;
    const std::string what = "cannot create a buffer of " + std::to_string(bytes) + " bytes: ";
    // Tensors may need more than their bytes, so that kernels can read past the end of a row.
    if (bytes > PTRDIFF_MAX - device.alignment) throw sdk::Failure(BP_NO_DEVICE_MEMORY, what + "no memory");
    if (bytes > device.largest)
        throw sdk::Failure(BP_NO_DEVICE_MEMORY, what + "the largest ggml makes here has " + std::to_string(device.largest));
    buffer = device.take_buffer(bytes);
    if (buffer == nullptr) throw sdk::Failure(BP_NO_DEVICE_MEMORY, what + "ggml gets no memory from the device");
    check_buffer_table(device.base, buffer, device.type);
    start = static_cast<std::byte*>(device.base.backend_buffer_get_base(buffer));
    device.bytes_used += size;
}

DeviceBuffer::DeviceBuffer(OpenDevice& device_, void* memory, uint64_t bytes)
    : device(device_), size(bytes), serial(device_.next_buffer++), imported(true) {
    if (memory == nullptr && bytes != 0) throw sdk::Failure(BP_INVALID, "cannot import host memory: the pointer is null");
    if (!device.found.props.caps.buffer_from_host_ptr)
        throw sdk::Failure(BP_UNSUPPORTED, "cannot import host memory: this ggml device does not; copy instead");
    if (bytes == 0) return;
    if (reinterpret_cast<uintptr_t>(memory) % device.alignment != 0)
        throw sdk::Failure(BP_UNSUPPORTED, "cannot import host memory: ggml wants it aligned to " +
                                               std::to_string(device.alignment) + " bytes; copy instead");
    buffer = device.base.backend_dev_buffer_from_host_ptr(device.found.device, memory, bytes, bytes);
    if (buffer == nullptr)
        throw sdk::Failure(BP_UNSUPPORTED, "cannot import host memory: ggml does not take it; copy instead");
    start = static_cast<std::byte*>(device.base.backend_buffer_get_base(buffer));
}

DeviceBuffer::~DeviceBuffer() {
    if (buffer == nullptr) return;
    if (imported) {
        device.base.backend_buffer_free(buffer);
    } else {
        device.give_buffer(buffer);
        device.bytes_used -= size;
    }
}

void copy(OpenDevice& device, const bp_copy& request) {
    if (request.wait.count != 0 || request.signal.fence != nullptr)
        throw sdk::Failure(BP_INVALID, "copy: this device has no fences to wait for or to signal");
    const uint64_t bytes = request.bytes;
    const Side from = side("source", request.from_buffer, const_cast<void*>(request.from_host), request.from_offset, bytes);
    const Side to = side("destination", request.to_buffer, request.to_host, request.to_offset, bytes);
    if (bytes == 0) return;
    if (from.host != nullptr && to.host != nullptr) {
        std::memmove(to.host, from.host, bytes);  // both sides may be one buffer
        return;
    }
    const ContextHandle context(device.base, 4, 0);
    if (from.host != nullptr) {
        device.base.backend_tensor_set(bytes_of(device, context.get(), to, bytes), from.host, 0, bytes);
    } else if (to.host != nullptr) {
        device.base.backend_tensor_get(bytes_of(device, context.get(), from, bytes), to.host, 0, bytes);
    } else {
        // Through the host: ggml gives no promise for ranges of one buffer that overlap.
        std::vector<std::byte> between(bytes);
        device.base.backend_tensor_get(bytes_of(device, context.get(), from, bytes), between.data(), 0, bytes);
        device.base.backend_tensor_set(bytes_of(device, context.get(), to, bytes), between.data(), 0, bytes);
    }
}

}  // namespace backplane::ggml
