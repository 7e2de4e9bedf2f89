// The host's table, read safely: what it does not give has the defined answer of module.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <string>

#include "backplane/sdk.hpp"

namespace backplane::cpu {

// Of all memory: a cache line, and the widest vector.
inline constexpr size_t kAlignment = 64;

class Host {
public:
    explicit Host(const bp_host* host) : host_(host != nullptr ? sdk::read(host) : bp_host{}) {}

    [[nodiscard]] std::string option(const char* name) const {
        const char* text = host_.option != nullptr ? host_.option(host_.self, name) : nullptr;
        return text != nullptr ? text : "";
    }
    [[nodiscard]] bool has_parallel() const { return host_.parallel != nullptr; }
    void parallel(uint32_t n, void (*body)(void*, uint32_t), void* arg) const { host_.parallel(host_.self, n, body, arg); }
    [[nodiscard]] void* allocate(size_t size) const {
        if (host_.allocate != nullptr) return host_.allocate(host_.self, size, kAlignment);
        return ::operator new (size, std::align_val_t{kAlignment}, std::nothrow);
    }
    void release(void* memory) const {
        if (host_.release != nullptr) {
            host_.release(host_.self, memory);
        } else {
            ::operator delete (memory, std::align_val_t{kAlignment});
        }
    }

private:
    bp_host host_;
};

}  // namespace backplane::cpu
