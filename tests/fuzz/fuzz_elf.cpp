// The reader of ELF module files, and of what the system has mapped of one. Nothing may crash, hang or throw, whatever the bytes.
#include <cstddef>
#include <cstdint>
#include <span>

#include "discovery/inspect.hpp"

using namespace backplane::discovery;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    Inspection m;
    const std::vector<std::byte> note = read_elf(MemoryBytes(std::as_bytes(std::span(data, size))), m);
    if (!note.empty()) read_descriptor(note, m);
    Inspection mapped;
    const std::vector<std::byte> found = read_elf_notes(MemoryBytes(std::as_bytes(std::span(data, size))), mapped);
    if (!found.empty()) read_descriptor(found, mapped);
    return 0;
}
