// The reader of Mach-O module files. Nothing may crash, hang or throw, whatever the bytes.
#include <cstddef>
#include <cstdint>
#include <span>

#include "discovery/inspect.hpp"

using namespace backplane::discovery;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    Inspection m;
    const std::vector<std::byte> note = read_macho(MemoryBytes(std::as_bytes(std::span(data, size))), m);
    if (!note.empty()) read_descriptor(note, m);
    return 0;
}
