// What is behind the handles of module.h. The host never looks inside; each is made and destroyed in module.cpp.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "backplane/error.hpp"
#include "backplane/sdk.hpp"
#include "common/host_queues.hpp"

namespace backplane::reference {

// One per open(). Nothing is global: the same file may be opened many times.
struct Module {
    const bp_host* host = nullptr;  // outlives the module; may be shorter than ours, so read it with BP_HAS only
};

// One per device_open(). Yours holds the context, the queues, the pools.
struct Device {
    static constexpr uint32_t kQueues = 1;      // that compute
    static constexpr uint32_t kCopyQueues = 1;  // a thread of its own: copies move bytes beside a run

    // lose_after: as backend::HostQueues has it.
    Device(const Module& of_module, uint64_t lose_after) : module(of_module), queues(kQueues + kCopyQueues, lose_after) {}

    const Module& module;
    std::atomic<uint64_t> bytes_used = 0;
    backend::HostQueues queues;
};

struct Buffer {
    std::byte* data = nullptr;
    uint64_t size = 0;
    Device* owner = nullptr;  // null: imported, the memory stays the caller's

    [[nodiscard]] bool contains(uint64_t offset, uint64_t bytes) const { return offset <= size && bytes <= size - offset; }
};

// Runs `body`; what it throws becomes a code and a text. Around every function of the table: nothing may be thrown across
// the line.
template <typename Body>
bp_code guard(bp_error* error, Body&& body) noexcept {
    return sdk::guard(error, [&] {
        try {
            body();
        } catch (const Error& e) {
            throw sdk::Failure(static_cast<bp_code>(e.code()), e.what());
        }
    });
}

// Hosts have bugs too: a null pointer where one is needed is BP_INVALID, not a crash.
template <typename T>
T& need(T* pointer, const char* what) {
    if (pointer == nullptr) throw sdk::Failure(BP_INVALID, std::string("the host passed no ") + what);
    return *pointer;
}

}  // namespace backplane::reference
