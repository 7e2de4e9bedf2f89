#include "runtime/buffer_state.hpp"

namespace backplane {

namespace {

void check_range(uint64_t offset, uint64_t bytes, uint64_t size, const char* what) {
    if (offset > size || bytes > size - offset)
        throw Error(Code::invalid, std::string(what) + ": bytes " + std::to_string(offset) + " to " +
                                       std::to_string(offset + bytes) + " lie outside a buffer of " + std::to_string(size) +
                                       " bytes");
}

}  // namespace

Buffer::Buffer(const Device& device, uint64_t size) {
    if (!device) throw Error(Code::invalid, "cannot create a buffer: no device given");
    storage_ = plan::Port::of(device)->allocate(size, "buffers");
}

Buffer Buffer::import(const Device& device, std::span<std::byte> memory) {
    if (!device) throw Error(Code::invalid, "cannot import memory: no device given");
    Buffer buffer;
    buffer.storage_ = plan::Port::of(device)->import(memory);
    return buffer;
}

uint64_t Buffer::size() const noexcept { return storage_ ? storage_->bytes : 0; }

void Buffer::write(std::span<const std::byte> from, uint64_t offset) {
    check_range(offset, from.size(), size(), "cannot write to a buffer");
    if (!from.empty()) storage_->port->upload(from, *storage_, offset, true);
}

void Buffer::read(std::span<std::byte> into, uint64_t offset) const {
    check_range(offset, into.size(), size(), "cannot read from a buffer");
    if (!into.empty()) storage_->port->download(*storage_, offset, into, true);
}

}  // namespace backplane
