// The one device of this backend, its buffers, its options.
#pragma once

#include <memory>

#include "levels.hpp"
#include "memory.hpp"
#include "thread_pool.hpp"

namespace backplane::cpu {

class Device {
public:
    Device(const Host& of_host, const Level& of_level, uint32_t threads)
        : host(of_host), level(of_level), pool(of_host, threads) {}

    const Host& host;
    const Level& level;
    ThreadPool pool;
};

// Memory of the device is memory of the host: owned, or the caller's.
struct Buffer {
    HostMemory own;
    std::byte* data = nullptr;
    uint64_t size = 0;
};

}  // namespace backplane::cpu
