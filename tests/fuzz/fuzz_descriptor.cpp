// The readers of descriptors: prefix and JSON as notes have them, JSON alone as sidecars do. Nothing may crash, hang or throw.
#include <cstddef>
#include <cstdint>
#include <span>

#include "discovery/inspect.hpp"

using namespace backplane::discovery;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const auto bytes = std::as_bytes(std::span(data, size));
    Inspection m;
    read_descriptor(bytes, m);
    read_descriptor_json({reinterpret_cast<const char*>(data), size}, BP_ABI, 0, m);
    return 0;
}
