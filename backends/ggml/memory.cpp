#include "handles.hpp"

namespace backplane::ggml {

namespace {

using Side = backend::Side<DeviceBuffer>;

// Where the processor sees it; null: it does not.
std::byte* seen(const Side& s) {
    if (s.buffer == nullptr) return s.host;
    return s.buffer->device.host_memory ? s.buffer->start + s.offset : nullptr;
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

void* DeviceBuffer::map(uint64_t offset, uint64_t) const {
    if (!device.host_memory)
        throw sdk::Failure(BP_UNSUPPORTED, "cannot map a buffer of this ggml device: its memory is its own; copy instead");
    return start + offset;
}

std::unique_ptr<DeviceBuffer> OpenDevice::create(uint32_t heap, uint64_t size) {
    if (heap != 0) backend::invalid("cannot create a buffer on heap " + std::to_string(heap) + ": there is heap 0 only");
    return std::make_unique<DeviceBuffer>(*this, size);
}

std::unique_ptr<DeviceBuffer> OpenDevice::import(void* memory, uint64_t size) {
    return std::make_unique<DeviceBuffer>(*this, memory, size);
}

void OpenDevice::copy(const bp_copy& request) {
    if (request.wait.count != 0 || request.signal.fence != nullptr)
        backend::invalid("copy: this device has no fences to wait for or to signal");
    const uint64_t bytes = request.bytes;
    const auto [from, to, zero] = backend::sides_of(request, 0, buffer_of);
    if (bytes == 0) return;
    std::byte* source = seen(from);
    std::byte* into = seen(to);
    if (source != nullptr && into != nullptr) return backend::copy_in_memory(source, into, bytes);
    const ContextHandle context(base, 4, 0);
    if (source != nullptr) {
        base.backend_tensor_set(bytes_of(*this, context.get(), to, bytes), source, 0, bytes);
    } else if (into != nullptr) {
        base.backend_tensor_get(bytes_of(*this, context.get(), from, bytes), into, 0, bytes);
    } else {
        // Through the host: ggml gives no promise for ranges of one buffer that overlap.
        std::vector<std::byte> between(bytes);
        base.backend_tensor_get(bytes_of(*this, context.get(), from, bytes), between.data(), 0, bytes);
        base.backend_tensor_set(bytes_of(*this, context.get(), to, bytes), between.data(), 0, bytes);
    }
}

}  // namespace backplane::ggml
