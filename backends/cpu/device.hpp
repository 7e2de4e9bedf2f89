// The one device of this backend, its buffers, its options.
#pragma once

#include <memory>
#include <vector>

#include "common/host_queues.hpp"
#include "common/requests.hpp"
#include "levels.hpp"
#include "memory.hpp"
#include "thread_pool.hpp"

namespace backplane::cpu {

inline constexpr uint32_t kMostThreads = 256;
// Of memory that the caller lends: that of the largest element.
inline constexpr uint32_t kLoanAlignment = 8;

// Memory of the device is memory of the host: owned, or the caller's.
struct Buffer {
    HostMemory own;
    std::byte* data = nullptr;
    uint64_t size = 0;

    void* map(uint64_t offset, uint64_t) const { return data + offset; }
};
inline const Buffer* buffer_of(const bp_buffer* handle) { return reinterpret_cast<const Buffer*>(handle); }
// Where a side of a copy is.
inline std::byte* at(const backend::Side<const Buffer>& side) {
    return side.buffer != nullptr ? side.buffer->data + side.offset : side.host;
}

class Device {
public:
    // lose_after: as backend::HostQueues has it. of_cores: that its threads may be on.
    Device(const Host& of_host, const Level& of_level, uint32_t threads, uint32_t copy_queues, uint64_t lose_after,
           uint32_t of_cores)
        : host(of_host),
          level(of_level),
          cores(of_cores),
          pool(of_host, threads),
          queues(kQueues + copy_queues, lose_after) {}

    static constexpr uint32_t kQueues = 1;  // that compute: its work has all threads of the pool

    [[nodiscard]] static std::vector<bp_heap> heaps();
    [[nodiscard]] std::vector<bp_option> options() const;
    void set_option(const bp_option& option);
    static void query(const bp_graph& graph, const bp_array& answers);
    [[nodiscard]] std::unique_ptr<Buffer> create(uint32_t heap, uint64_t size) const;
    static std::unique_ptr<Buffer> import(void* memory, uint64_t size);
    void copy(const bp_copy& c);
    std::unique_ptr<backend::HostQueues::Fence> make_fence() { return queues.make_fence(); }

    const Host& host;
    const Level& level;
    const uint32_t cores;
    ThreadPool pool;             // of the work on the queue that computes
    backend::HostQueues queues;  // the last to come and the first to go: its workers use the rest
};

}  // namespace backplane::cpu
