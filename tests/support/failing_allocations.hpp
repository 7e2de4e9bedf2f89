// A device whose memory runs out at the allocation that a test names, once or for ever, or of which another program has taken the rest from then on. One
// at a time in a process.
#pragma once

#include <atomic>
#include <map>
#include <mutex>

#include "backplane/sdk.hpp"
#include "registry/device_state.hpp"

namespace backplane::test {

class FailingAllocations {
public:
    explicit FailingAllocations(const Device& of) : of_(of) {
        honest = DeviceAccess::state(of)->api;
        table_ = *honest;
        table_.device_close = [](bp_device*) {};  // the device itself closes it
        table_.buffer_create = create;
        table_.buffer_close = close;
        if (honest->buffer_import != nullptr) table_.buffer_import = import;
        auto state = std::make_shared<Device::State>();
        state->info = of.info();
        state->api = &table_;
        state->in_its_place = &changed_;
        state->handle = DeviceAccess::state(of)->handle;
        state->module = DeviceAccess::state(of)->module;
        device = DeviceAccess::handle(state);
        fail_from = -1;
        most = 0;
    }
    // As it was, and counting from 0.
    static void start_anew() {
        asked = 0;
        fail_from = -1;
        most = 0;
    }

    static inline std::atomic<int> asked{0};             // allocations of memory that the device computes in
    static inline std::atomic<int> fail_from{-1};        // the number of the first that fails, from 0; -1: none does
    static inline std::atomic<int> failures{1};          // how many then fail
    static inline std::atomic<uint64_t> most{0};         // bytes that there are from then on; 0: as many as the device has
    static inline std::atomic<int> alive{0};             // buffers
    static inline std::atomic<uint64_t> bytes_alive{0};  // of what was allocated
    Device device;

private:
    static bp_code create(bp_device* device, uint32_t heap, uint64_t bytes, bp_buffer** out, bp_error* error) {
        if (heap == 0) {
            const int number = asked++, first = fail_from;
            const bool from_now = first >= 0 && number >= first;
            const uint64_t there = most;
            if (from_now && (there != 0 ? bytes_alive + bytes > there : number - first < failures))
                return BP_NO_DEVICE_MEMORY;
        }
        const bp_code code = honest->buffer_create(device, heap, bytes, out, error);
        if (code == BP_OK) {
            ++alive;
            if (heap == 0) note(*out, bytes);
        }
        return code;
    }
    static bp_code import(bp_device* device, void* memory, uint64_t bytes, bp_buffer** out, bp_error* error) {
        const bp_code code = honest->buffer_import(device, memory, bytes, out, error);
        if (code == BP_OK) ++alive;
        return code;
    }
    static void close(bp_buffer* buffer) {
        --alive;
        {
            const std::lock_guard lock(mutex);
            if (const auto found = sizes.find(buffer); found != sizes.end()) {
                bytes_alive -= found->second;
                sizes.erase(found);
            }
        }
        honest->buffer_close(buffer);
    }
    static void note(bp_buffer* buffer, uint64_t bytes) {
        const std::lock_guard lock(mutex);
        sizes[buffer] = bytes;
        bytes_alive += bytes;
    }

    static inline const bp_module_api* honest = nullptr;  // what replaced functions call on
    static inline std::mutex mutex;                       // of sizes
    static inline std::map<bp_buffer*, uint64_t> sizes;
    Device of_;
    bp_module_api table_{};
    registry::Guarded changed_{"changed", table_, std::make_shared<registry::HostServices>()};
};

}  // namespace backplane::test
