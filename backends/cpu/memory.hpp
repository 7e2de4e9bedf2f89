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
    // Throws bad_alloc. The host outlives it.
    HostMemory(const Host& host, size_t size, size_t alignment = kAlignment)
        : host_(&host), size_(size), alignment_(alignment) {
        if (size == 0) return;
        data_ = static_cast<std::byte*>(host.allocate(size, alignment));
        if (data_ == nullptr) throw std::bad_alloc();
    }
    HostMemory(HostMemory&& other) noexcept { swap(other); }
    HostMemory& operator=(HostMemory&& other) noexcept {
        swap(other);
        return *this;
    }
    ~HostMemory() {
        if (data_ != nullptr) host_->release(data_, alignment_);
    }
    [[nodiscard]] std::byte* data() const { return data_; }
    [[nodiscard]] size_t size() const { return size_; }

private:
    void swap(HostMemory& other) noexcept {
        std::swap(host_, other.host_);
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        std::swap(alignment_, other.alignment_);
    }
    const Host* host_ = nullptr;
    std::byte* data_ = nullptr;
    size_t size_ = 0, alignment_ = kAlignment;
};

}  // namespace backplane::cpu
