// Mach-O, as far as loading needs it: 64-bit little-endian files and the slice for this machine of files that hold several. Format:
// <mach-o/loader.h> and <mach-o/fat.h> of Apple.
#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "base/machine.hpp"
#include "discovery/inspect.hpp"

namespace backplane::discovery {

namespace {

struct Header {
    uint32_t magic, machine, machine_kind, type, command_count, commands_size, flags, reserved;
};
struct Command {
    uint32_t type, size;
};
struct Segment {  // what follows its Command; then `section_count` sections
    std::array<char, 16> name;
    uint64_t address, memory_size, offset, size;
    uint32_t most_rights, rights, section_count, flags;
};
struct Section {
    std::array<char, 16> name, segment;
    uint64_t address, size;
    uint32_t offset, alignment, relocations, relocation_count, flags;
    std::array<uint32_t, 3> reserved;
};

constexpr uint32_t kMagic64 = 0xfeedfacf;
enum : uint32_t { kLibrary = 6, kBundle = 8 };
// A weak library (0x80000018) may be missing, so it is no need.
enum : uint32_t { kLoadLibrary = 0xc, kSegment = 0x19, kUuid = 0x1b, kRunPath = 0x8000001c, kReexport = 0x8000001f };
constexpr uint32_t kMostCommands = 1u << 18;  // bytes; real ones are a few thousand
constexpr uint64_t kMostNote = 8192;
constexpr uint32_t kMostSlices = 16;  // a Java class file has the same magic and far more in this place

// A part of other bytes that was found to lie within them.
class Slice final : public ByteSource {
public:
    Slice(const ByteSource& whole, uint64_t offset, uint64_t size)
        : ByteSource(CountedWith{whole}), whole_(whole), offset_(offset), size_(size) {}
    [[nodiscard]] uint64_t size() const override { return size_; }

private:
    [[nodiscard]] bool fetch(uint64_t offset, std::span<std::byte> into) const override {
        return whole_.read(offset_ + offset, into);
    }

    const ByteSource& whole_;
    uint64_t offset_, size_;
};

std::string_view name_in(const std::array<char, 16>& field) {
    const std::string_view all(field.data(), field.size());
    return all.substr(0, all.find('\0'));
}

std::string folder_of(const std::filesystem::path& file) {
    const std::u8string folder = file.parent_path().u8string();
    return {folder.begin(), folder.end()};
}

class Commands {
public:
    // `table`: the commands alone, which follow the header.
    Commands(const ByteSource& source, std::span<const std::byte> table, Inspection& into)
        : source_(source), table_(table), into_(into) {}

    // False: `problem` says why.
    bool read(const Header& header) {
        size_t at = 0;
        for (uint32_t i = 0; i < header.command_count && source_.step(); ++i) {
            Command command{};
            if (!get(at, command) || command.size < sizeof command || command.size > table_.size() - at)
                return refuse(ReasonCode::truncated, "its load commands are cut off or damaged");
            if (!take(command, table_.subspan(at, command.size))) return false;
            at += command.size;
        }
        return true;
    }
    std::vector<std::byte> note() { return std::move(note_); }

private:
    bool refuse(ReasonCode code, std::string text) {
        into_.stop(code, std::move(text));
        return false;
    }

    template <typename T>
    [[nodiscard]] bool get(size_t at, T& value) const {
        return get(table_, at, value);
    }
    template <typename T>
    [[nodiscard]] static bool get(std::span<const std::byte> bytes, size_t at, T& value) {
        if (at > bytes.size() || sizeof value > bytes.size() - at) return false;
        std::memcpy(&value, bytes.data() + at, sizeof value);
        return true;
    }

    bool take(const Command& command, std::span<const std::byte> bytes) {
        Binary& binary = into_.binary;
        if (command.type == kSegment) return take_segment(bytes);
        if (command.type == kUuid) {
            std::array<uint8_t, 16> id{};
            if (!get(bytes, sizeof command, id)) return true;
            binary.build_id.clear();
            for (const uint8_t byte : id)
                for (const int shift : {4, 0}) binary.build_id += "0123456789abcdef"[byte >> shift & 15];
        }
        if (command.type == kLoadLibrary || command.type == kReexport) {
            const std::string name = from_start(text_of(bytes), false);
            if (name.size() > kMostName)
                return refuse(ReasonCode::too_large,
                              "the name of a library that it needs has more than " + std::to_string(kMostName) + " bytes");
            if (!name.empty() && binary.needed.size() == kMostNeeded)
                return refuse(ReasonCode::too_large,
                              "it has more than " + std::to_string(kMostNeeded) + " libraries that it needs");
            if (!name.empty()) binary.needed.push_back(name);
        }
        if (command.type == kRunPath) {
            const std::string folder = from_start(text_of(bytes), true);
            if (!folder.empty() && binary.run_paths.size() == kMostRunPaths)
                return refuse(ReasonCode::too_large,
                              "it has more than " + std::to_string(kMostRunPaths) + " folders in its run paths");
            if (!folder.empty() && folder.size() <= kMostName) add_run_path(binary, folder);
        }
        return true;
    }

    // The text of a command stands at an offset from its start, its first word.
    [[nodiscard]] static std::string_view text_of(std::span<const std::byte> command) {
        uint32_t offset = 0;
        if (!get(command, sizeof(Command), offset) || offset < sizeof(Command) + sizeof offset || offset >= command.size())
            return {};
        const std::string_view rest(reinterpret_cast<const char*>(command.data()) + offset, command.size() - offset);
        const size_t end = rest.find('\0');
        return end == std::string_view::npos ? std::string_view() : rest.substr(0, end);
    }

    // With the names for the file's own folder, and in run paths for the program's, put in.
    [[nodiscard]] std::string from_start(std::string_view text, bool program_too) const {
        constexpr std::string_view kLoader = "@loader_path";
        constexpr std::string_view kProgram = "@executable_path";
        if (text.starts_with(kLoader) && !into_.path.empty())
            return folder_of(into_.path) + std::string(text.substr(kLoader.size()));
        if (program_too && text.starts_with(kProgram))
            return folder_of(base::executable_file()) + std::string(text.substr(kProgram.size()));
        return std::string(text);
    }

    bool take_segment(std::span<const std::byte> command) {
        Segment segment{};
        constexpr uint64_t kStart = sizeof(Command) + sizeof segment;
        if (!get(command, sizeof(Command), segment) || segment.section_count > (command.size() - kStart) / sizeof(Section))
            return refuse(ReasonCode::truncated, "a segment's load command is cut off or damaged");
        if (segment.offset > source_.size() || segment.size > source_.size() - segment.offset)
            return refuse(ReasonCode::truncated,
                          "cut off at " + std::to_string(source_.size()) + " bytes: a segment goes on after them");
        for (uint32_t i = 0; note_.empty() && i < segment.section_count && source_.step(); ++i) {
            Section section{};
            if (!get(command, kStart + i * sizeof section, section)) break;
            if (name_in(section.name) != "__bpnote" || name_in(section.segment) != "__TEXT") continue;
            std::vector<std::byte> bytes(std::min(section.size, kMostNote));
            if (!source_.read(section.offset, bytes))
                return refuse(ReasonCode::truncated, "the section of its descriptor goes on after its end");
            note_ = std::move(bytes);
        }
        return true;
    }

    const ByteSource& source_;
    std::span<const std::byte> table_;
    Inspection& into_;
    std::vector<std::byte> note_;
};

std::vector<std::byte> read_thin(const ByteSource& source, Inspection& into) {
    Header header{};
    Binary& binary = into.binary;
    if (!source.get(0, header)) return into.stop(ReasonCode::truncated, "its Mach-O header is cut off");
    binary.machine = header.machine;
    binary.bits = header.magic == kMagic64 ? 64 : 32;
    if (header.type != kLibrary && header.type != kBundle)
        return into.stop(ReasonCode::not_a_module, "a macOS program or object file, not a library");
    if (binary.bits != 64) return {};
    if (header.commands_size > kMostCommands)
        return into.stop(ReasonCode::too_large,
                         "it has more than " + std::to_string(kMostCommands) + " bytes of load commands");
    std::vector<std::byte> table(header.commands_size);
    if (header.commands_size > source.size() - sizeof header || !source.read(sizeof header, table))
        return into.stop(ReasonCode::truncated, "its load commands are cut off or damaged");
    Commands commands(source, table, into);
    if (!commands.read(header)) return {};
    return commands.note();
}

// The header of a file of several slices is big-endian.
bool big_endian(const ByteSource& source, uint64_t at, size_t size, uint64_t& value) {
    std::array<std::byte, 8> bytes{};
    if (!source.read(at, std::span(bytes).first(size))) return false;
    value = 0;
    for (size_t i = 0; i < size; ++i) value = value << 8 | std::to_integer<uint64_t>(bytes[i]);
    return true;
}

std::vector<std::byte> read_fat(const ByteSource& source, size_t word, uint64_t count, Inspection& into) {
    const uint64_t row = word == 8 ? 32 : 20;
    uint64_t offset = 0;
    uint64_t size = 0;
    for (uint64_t i = 0; i < count; ++i) {
        const uint64_t at = 8 + i * row;
        uint64_t machine = 0;
        uint64_t first = 0;
        uint64_t length = 0;
        if (!big_endian(source, at, 4, machine) || !big_endian(source, at + 8, word, first) ||
            !big_endian(source, at + 8 + word, word, length))
            return into.stop(ReasonCode::truncated, "its table of slices is cut off");
        if (first > source.size() || length > source.size() - first)
            return into.stop(ReasonCode::truncated,
                             "cut off at " + std::to_string(source.size()) + " bytes: a slice goes on after them");
        // Without one for this machine the first says what the file is for.
        if (i != 0 && machine != base::this_machine().macho) continue;
        offset = first;
        size = length;
        if (machine == base::this_machine().macho) break;
    }
    const Slice slice(source, offset, size);
    std::array<uint8_t, 4> magic{};
    if (!slice.get(0, magic)) return into.stop(ReasonCode::truncated, "its slice is cut off");
    if ((magic[0] != 0xcf && magic[0] != 0xce) || magic[1] != 0xfa || magic[2] != 0xed || magic[3] != 0xfe)
        return into.stop(ReasonCode::not_a_module, "not a library: its slice starts with other bytes");
    return read_thin(slice, into);
}

std::vector<std::byte> read(const ByteSource& source, Inspection& into) {
    into.binary.format = Format::macho;
    std::array<uint8_t, 4> magic{};
    uint64_t count = 0;
    if (!source.get(0, magic)) return into.stop(ReasonCode::truncated, "too short to be a library");
    if (magic[0] != 0xca) return read_thin(source, into);
    if (!big_endian(source, 4, 4, count)) return into.stop(ReasonCode::truncated, "its table of slices is cut off");
    if (count == 0 || count > kMostSlices) {
        into.binary.format = Format::none;
        return into.stop(ReasonCode::not_a_module, "not a shared library: it starts like a Java class");
    }
    return read_fat(source, magic[3] == 0xbf ? 8 : 4, count, into);
}

}  // namespace

std::vector<std::byte> read_macho(const ByteSource& source, Inspection& into) {
    return within_limits(source, into, read(source, into));
}

}  // namespace backplane::discovery
