// What a Buffer handle shares.
#pragma once

#include "backplane/runtime.hpp"
#include "base/process_end.hpp"
#include "registry/device_state.hpp"

namespace backplane {

struct Buffer::State {
    State(Device device_, bp_buffer* handle_, uint64_t size_) : device(std::move(device_)), handle(handle_), size(size_) {
        ++device.state()->buffers;
    }
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    ~State() {
        base::close_in_time(handle, device.state()->api->buffer_close);
        --device.state()->buffers;
    }

    Device device;
    bp_buffer* handle;
    uint64_t size;
};

}  // namespace backplane
