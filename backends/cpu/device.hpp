// The one device of this backend, its buffers, its options.
#pragma once

#include <memory>

#include "common/host_queues.hpp"
#include "levels.hpp"
#include "memory.hpp"
#include "thread_pool.hpp"

namespace backplane::cpu {

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

    const Host& host;
    const Level& level;
    const uint32_t cores;
    ThreadPool pool;             // of the work on the queue that computes
    backend::HostQueues queues;  // the last to come and the first to go: its workers use the rest
};

// Memory of the device is memory of the host: owned, or the caller's.
struct Buffer {
    HostMemory own;
    std::byte* data = nullptr;
    uint64_t size = 0;
};

}  // namespace backplane::cpu
