// The readers of module files: ELF, PE, prefix and JSON. Nothing may crash, hang or throw, whatever the bytes.
#include <cstddef>
#include <cstdint>
#include <span>

#include "discovery/inspect.hpp"

using namespace backplane::discovery;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const auto bytes = std::as_bytes(std::span(data, size));
    for (const auto reader : {read_elf, read_pe}) {
        Inspection m;
        const std::vector<std::byte> note = reader(MemoryBytes(bytes), m);
        if (!note.empty()) read_descriptor(note, m);
    }
    Inspection m;
    read_descriptor(bytes, m);
    read_descriptor_json({reinterpret_cast<const char*>(data), size}, BP_ABI, 0, m);
    return 0;
}
