// Owned, aligned memory taken from the host.
#pragma once

#include <cstddef>
#include <utility>

#include "common/host.hpp"

namespace backplane::cpu {

using backend::Host;

// Of all memory: a cache line, and the widest vector.
inline constexpr size_t kAlignment = 64;

class HostMemory {
public:
    HostMemory() = default;
    HostMemory(const Host& host, size_t size) : host_(&host), size_(size) {  // throws bad_alloc. The host outlives it
        if (size == 0) return;
        data_ = static_cast<std::byte*>(host.allocate(size, kAlignment));
        if (data_ == nullptr) throw std::bad_alloc();
    }
    HostMemory(HostMemory&& other) noexcept { swap(other); }
    HostMemory& operator=(HostMemory&& other) noexcept {
        swap(other);
        return *this;
    }
    ~HostMemory() {
        if (data_ != nullptr) host_->release(data_, kAlignment);
    }
    [[nodiscard]] std::byte* data() const { return data_; }
    [[nodiscard]] size_t size() const { return size_; }

private:
    void swap(HostMemory& other) noexcept {
        std::swap(host_, other.host_);
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
    }
    const Host* host_ = nullptr;
    std::byte* data_ = nullptr;
    size_t size_ = 0;
};

}  // namespace backplane::cpu
