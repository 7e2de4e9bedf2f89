// What is behind the handles of module.h. The host never looks inside.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "backplane/error.hpp"
#include "backplane/sdk.hpp"
#include "common/host.hpp"
#include "common/host_queues.hpp"
#include "common/requests.hpp"

namespace backplane::reference {

class Device;

// Device memory is host memory here.
struct Buffer {
    Buffer(Device& device, uint64_t size);  // throws sdk::Failure(BP_NO_DEVICE_MEMORY); content is undefined, size may be 0
    Buffer(void* memory, uint64_t size);    // the caller's memory in place
    ~Buffer();
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    void* map(uint64_t offset, uint64_t) const { return data + offset; }

    std::byte* data = nullptr;
    uint64_t size = 0;
    Device* owner = nullptr;  // null: imported, the memory stays the caller's
};
inline const Buffer* buffer_of(const bp_buffer* handle) { return reinterpret_cast<const Buffer*>(handle); }

// One per device_open(). Yours holds the context, the queues, the pools.
class Device {
public:
    static constexpr uint32_t kQueues = 1;      // that compute
    static constexpr uint32_t kCopyQueues = 1;  // a thread of its own: copies move bytes beside a run

    // lose_after: as backend::HostQueues has it.
    Device(const backend::Host& of_host, uint64_t lose_after) : host(of_host), queues(kQueues + kCopyQueues, lose_after) {}

    [[nodiscard]] std::vector<bp_heap> heaps() const;
    [[nodiscard]] static std::vector<bp_option> options() { return {}; }
    static void set_option(const bp_option& option);  // throws sdk::Failure(BP_NOT_FOUND)
    static void query(const bp_graph& graph, const bp_array& answers);
    std::unique_ptr<Buffer> create(uint32_t heap, uint64_t size);
    static std::unique_ptr<Buffer> import(void* memory, uint64_t size) { return std::make_unique<Buffer>(memory, size); }
    void copy(const bp_copy& c);
    std::unique_ptr<backend::HostQueues::Fence> make_fence() { return queues.make_fence(); }

    const backend::Host& host;
    std::atomic<uint64_t> bytes_used = 0;
    backend::HostQueues queues;
};

}  // namespace backplane::reference
