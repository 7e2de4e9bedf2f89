#include "base/errors.hpp"
#include "runtime/buffer_state.hpp"

namespace backplane {

namespace {

// One synchronous copy under the lock of [device] calls.
void copy(const Device& device, bp_copy request, const char* what) {
    request.struct_size = BP_SIZE(bp_copy, signal);
    Device::State& state = *device.state();
    base::ErrorRoom room;
    state.expect_there(what);
    const std::lock_guard lock(state.device_mutex);
    state.check(state.call<&bp_module_api::copy>(room, state.handle, &request), what, room);
}

void check_range(uint64_t offset, uint64_t bytes, uint64_t size, const char* what) {
    if (offset > size || bytes > size - offset)
        throw Error(Code::invalid, std::string(what) + ": bytes " + std::to_string(offset) + " to " +
                                       std::to_string(offset + bytes) + " lie outside a buffer of " + std::to_string(size) +
                                       " bytes");
}

}  // namespace

Buffer::Buffer(const Device& device, uint64_t size) {
    if (!device) throw Error(Code::invalid, "cannot create a buffer: no device given");
    Device::State& state = *device.state();
    const std::string what = "cannot create a buffer of " + std::to_string(size) + " bytes on " + state.info.id;
    state.expect_there(what);
    base::ErrorRoom room;
    bp_buffer* handle = nullptr;
    state.check(state.call<&bp_module_api::buffer_create>(room, state.handle, 0, size, &handle), what, room);
    Device::State::expect_handle(handle, what);
    state_ = std::make_shared<State>(device, handle, size);
}

Buffer Buffer::import(const Device& device, std::span<std::byte> memory) {
    if (!device) throw Error(Code::invalid, "cannot import memory: no device given");
    Device::State& state = *device.state();
    state.expect_there("cannot import host memory on " + state.info.id);
    if (!BP_HAS(state.api, buffer_import))
        throw Error(Code::unsupported,
                    "cannot import host memory: " + state.info.id + " has no such function, copy instead");
    base::ErrorRoom room;
    bp_buffer* handle = nullptr;
    state.check(state.call<&bp_module_api::buffer_import>(room, state.handle, memory.data(), memory.size(), &handle),
                "cannot import host memory on " + state.info.id, room);
    Device::State::expect_handle(handle, "cannot import host memory on " + state.info.id);
    Buffer buffer;
    buffer.state_ = std::make_shared<State>(device, handle, memory.size());
    return buffer;
}

std::optional<Buffer> in_place(const Device& device, std::span<const std::byte> memory) {
    Device::State& state = *device.state();
    if ((state.info.capabilities & BP_CAN_IMPORT_HOST) == 0 || memory.empty() || !state.in_host_memory())
        return std::nullopt;
    try {
        return Buffer::import(device, {const_cast<std::byte*>(memory.data()), memory.size()});
    } catch (const Error& e) {
        if (e.code() != Code::unsupported) throw;
        return std::nullopt;
    }
}

uint64_t Buffer::size() const noexcept { return state_ ? state_->size : 0; }

bp_buffer* Buffer::get() const noexcept { return state_ ? state_->handle : nullptr; }

void Buffer::write(std::span<const std::byte> from, uint64_t offset) {
    check_range(offset, from.size(), size(), "cannot write to a buffer");
    if (from.empty()) return;
    bp_copy request{};
    request.from_host = from.data();
    request.to_buffer = get();
    request.to_offset = offset;
    request.bytes = from.size();
    copy(state_->device, request, "cannot copy to the device");
}

void Buffer::read(std::span<std::byte> into, uint64_t offset) const {
    check_range(offset, into.size(), size(), "cannot read from a buffer");
    if (into.empty()) return;
    bp_copy request{};
    request.from_buffer = get();
    request.from_offset = offset;
    request.to_host = into.data();
    request.bytes = into.size();
    copy(state_->device, request, "cannot copy from the device");
}

}  // namespace backplane
