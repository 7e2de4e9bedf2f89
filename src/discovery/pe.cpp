// PE, as far as loading needs it. Format: Microsoft, "PE Format" (learn.microsoft.com/windows/win32/debug/pe-format).
#include <algorithm>
#include <array>
#include <string_view>

#include "discovery/inspect.hpp"

namespace backplane::discovery {

namespace {

struct CoffHeader {
    uint16_t machine, sections;
    uint32_t time, symbols, symbol_count;
    uint16_t optional_size, characteristics;
};
struct Section {
    std::array<char, 8> name;
    uint32_t virtual_size, address, size, offset, relocations, lines;
    uint16_t relocation_count, line_count;
    uint32_t characteristics;
};
struct Import {
    uint32_t lookup, time, forwarder, name, addresses;
};

constexpr uint16_t kLibrary = 0x2000;
constexpr uint16_t kPlus = 0x20b;  // PE32+: 64-bit

constexpr uint16_t kMostSections = 96;  // as the loader takes

uint64_t offset_of(std::span<const Section> sections, uint32_t address) {
    for (const Section& s : sections)
        if (address >= s.address && address - s.address < s.size) return uint64_t{s.offset} + (address - s.address);
    return UINT64_MAX;
}

void read_imports(const ByteSource& source, std::span<const Section> sections, uint32_t table, Inspection& into) {
    const uint64_t first = offset_of(sections, table);
    for (uint64_t i = 0; first != UINT64_MAX && source.step(); ++i) {
        Import import{};
        if (!source.get(first + i * sizeof import, import) || import.name == 0) return;
        std::optional<std::string> name = source.text(offset_of(sections, import.name), kMostName);
        if (!name || into.binary.needed.size() == kMostNeeded) {
            into.stop(ReasonCode::too_large,
                      name ? "it has more than " + std::to_string(kMostNeeded) + " libraries that it needs"
                           : "the name of a library that it needs has more than " + std::to_string(kMostName) + " bytes");
            return;
        }
        if (!name->empty()) into.binary.needed.push_back(std::move(*name));
    }
}

std::vector<std::byte> read(const ByteSource& source, Inspection& into) {
    into.binary.format = Format::pe;
    uint32_t at = 0;
    std::array<char, 4> signature{};
    if (!source.get(0x3c, at) || !source.get(at, signature))
        return into.stop(ReasonCode::not_a_module, "starts like a DOS program and is not a Windows library");
    if (std::string_view(signature.data(), 4) != std::string_view("PE\0\0", 4))
        return into.stop(ReasonCode::not_a_module, "a DOS program");
    CoffHeader coff{};
    uint16_t magic = 0;
    const uint64_t optional = uint64_t{at} + 4 + sizeof coff;
    if (!source.get(at + 4, coff) || !source.get(optional, magic))
        return into.stop(ReasonCode::truncated, "its PE header is cut off");
    into.binary.machine = coff.machine;
    into.binary.bits = magic == kPlus ? 64 : 32;
    // The loader looks beside the file first (LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR); nothing in the file says so.
    if (!into.path.empty()) into.binary.run_paths.push_back(into.path.parent_path());
    if ((coff.characteristics & kLibrary) == 0)
        return into.stop(ReasonCode::not_a_module, "a Windows program, not a library");
    if (into.binary.bits != 64) return {};

    if (coff.sections > kMostSections)
        return into.stop(ReasonCode::too_large, "it has more than " + std::to_string(kMostSections) + " sections");
    std::vector<Section> sections(coff.sections);
    if (!source.read(optional + coff.optional_size, std::as_writable_bytes(std::span(sections))))
        return into.stop(ReasonCode::truncated, "its section table is cut off");
    for (const Section& s : sections)
        if (s.offset > source.size() || s.size > source.size() - s.offset)
            return into.stop(ReasonCode::truncated,
                             "cut off at " + std::to_string(source.size()) + " bytes: a section goes on after them");
    uint32_t imports = 0;
    constexpr uint64_t kImportDirectory = 112 + 8;  // the second of the data directories of PE32+
    if (coff.optional_size >= kImportDirectory + 8 && source.get(optional + kImportDirectory, imports) && imports != 0)
        read_imports(source, sections, imports, into);
    if (into.problem != ReasonCode::none) return {};
    for (const Section& s : sections) {
        if (std::string_view(s.name.data(), 8) != std::string_view(".bpnote\0", 8)) continue;
        std::vector<std::byte> bytes(std::min({s.size, s.virtual_size, 8192U}));
        if (source.read(s.offset, bytes)) return bytes;
    }
    return {};
}

}  // namespace

std::vector<std::byte> read_pe(const ByteSource& source, Inspection& into) {
    return within_limits(source, into, read(source, into));
}

}  // namespace backplane::discovery
