// Buffers and copies. Device memory is host memory here.
#pragma once

#include "handles.hpp"

namespace backplane::reference {

// Throws sdk::Failure(BP_NO_DEVICE_MEMORY). Content is undefined; size may be 0.
std::unique_ptr<Buffer> create_buffer(Device& device, uint64_t size);
// Uses the caller's memory in place.
std::unique_ptr<Buffer> import_buffer(void* memory, uint64_t size);
void close_buffer(std::unique_ptr<Buffer> buffer);

// Throws sdk::Failure(BP_INVALID) and submits nothing unless both sides are stated once and hold the bytes.
void copy(Device& device, const bp_copy& request);

}  // namespace backplane::reference
