// The host's table, read safely: what it does not give has the defined answer of module.h.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>

#include "backplane/sdk.hpp"

namespace backplane::cpu {

class Host {
public:
    explicit Host(const bp_host* host) : host_(host != nullptr ? sdk::read(host) : bp_host{}) {}

    [[nodiscard]] std::string option(const char* name) const {
        const char* text = host_.option != nullptr ? host_.option(host_.self, name) : nullptr;
        return text != nullptr ? text : "";
    }
    [[nodiscard]] bool has_parallel() const { return host_.parallel != nullptr; }
    void parallel(uint32_t n, void (*body)(void*, uint32_t), void* arg) const { host_.parallel(host_.self, n, body, arg); }
    [[nodiscard]] void* allocate(size_t size, size_t alignment) const {
        if (host_.allocate != nullptr) return host_.allocate(host_.self, size, alignment);
        return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
    }
    void release(void* memory) const {
        if (host_.release != nullptr) {
            host_.release(host_.self, memory);
        } else {
            std::free(memory);
        }
    }

private:
    bp_host host_;
};

}  // namespace backplane::cpu
