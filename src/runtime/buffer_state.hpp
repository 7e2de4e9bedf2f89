// Bytes of the plan layer behind a Buffer.
#pragma once

#include "backplane/runtime.hpp"
#include "plan/port.hpp"

namespace backplane {

struct BufferAccess {
    static const std::shared_ptr<plan::Storage>& of(const Buffer& buffer) { return buffer.storage_; }
};

// Of a buffer that is one.
[[nodiscard]] inline plan::Storage& bytes_of(const Buffer& buffer) { return *BufferAccess::of(buffer); }

}  // namespace backplane
