// The libggml-base of this process: which it is, and its functions that a registry calls.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "abi.hpp"

namespace backplane::compat {

using ggml::Backend;
using ggml::Device;
using ggml::Registration;

struct BaseFunctions {
    std::filesystem::path file;
    const char* (*registration_name)(Registration*) = nullptr;
    size_t (*device_count)(Registration*) = nullptr;
    Device* (*device_at)(Registration*, size_t) = nullptr;
    Registration* (*registration_of)(Device*) = nullptr;
    const char* (*device_name)(Device*) = nullptr;
    int32_t (*device_type)(Device*) = nullptr;
    Backend* (*open)(Device*, const char* parameters) = nullptr;
    void (*log)(int32_t level, const char* format, ...) = nullptr;  // null: none

    [[nodiscard]] bool complete() const { return open != nullptr; }
};

// The one that the loader gave this library's callers; else one that is mapped; else one beside this library or the program; else what the
// loader finds under `soname`. It stays loaded. Not complete: there is none.
BaseFunctions find_base_functions(const std::string& soname);

}  // namespace backplane::compat
