// What a Buffer handle shares.
#pragma once

#include <optional>

#include "backplane/runtime.hpp"
#include "registry/device_state.hpp"

namespace backplane {

struct Buffer::State {
    State(Device device_, bp_buffer* handle_, uint64_t size_) : device(std::move(device_)), handle(handle_), size(size_) {
        ++device.state()->buffers;
    }
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    ~State() {
        device.state()->guarded().close<&bp_module_api::buffer_close>(handle);
        --device.state()->buffers;
    }

    Device device;
    bp_buffer* handle;
    uint64_t size;
};

// The caller's memory itself where the device computes in it at full speed; nothing otherwise. Only written where the program writes: the ABI
// has one import for both directions.
[[nodiscard]] std::optional<Buffer> in_place(const Device& device, std::span<const std::byte> memory);

}  // namespace backplane
