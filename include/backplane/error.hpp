// Errors of the C++ API.
#pragma once

#include <stdexcept>
#include <string>

#include "backplane/module.h"

namespace backplane {

// The codes of module.h, as a type. A program switches on these; the text is for people.
enum class Code : int32_t {
    ok = BP_OK,
    invalid = BP_INVALID,
    unsupported = BP_UNSUPPORTED,
    version = BP_VERSION,
    not_found = BP_NOT_FOUND,
    denied = BP_DENIED,
    no_host_memory = BP_NO_HOST_MEMORY,
    no_device_memory = BP_NO_DEVICE_MEMORY,
    device_lost = BP_DEVICE_LOST,
    timeout = BP_TIMEOUT,
    cancelled = BP_CANCELLED,
    stale = BP_STALE,
    corrupt = BP_CORRUPT,
    internal = BP_INTERNAL,
    busy = BP_BUSY,
};

// Everything the library throws on purpose. what() says what was attempted, on what, why it failed and, where somebody can do
// something about it, what to do: one line, no trailing period, no newline.
class Error : public std::runtime_error {
public:
    Error(Code code, const std::string& text) : std::runtime_error(text), code_(code) {}
    [[nodiscard]] Code code() const noexcept { return code_; }

private:
    Code code_;
};

// "not found", "device lost", ...
const char* name_of(Code code) noexcept;

}  // namespace backplane
