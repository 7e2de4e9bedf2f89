// ELF, as far as loading needs it. Format: System V ABI, chapters 4 and 5; notes of GNU: build id; ld.so(8) for run paths.
#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "discovery/inspect.hpp"

namespace backplane::discovery {

namespace {

struct Header {  // of 64-bit files
    std::array<uint8_t, 16> ident;
    uint16_t type, machine;
    uint32_t version;
    uint64_t entry, program_headers, section_headers;
    uint32_t flags;
    uint16_t header_size, program_size, program_count, section_size, section_count, names;
};
struct ProgramHeader {
    uint32_t type, flags;
    uint64_t offset, address, physical, file_size, memory_size, alignment;
};
struct Dynamic {
    int64_t tag;
    uint64_t value;
};
struct NoteHeader {
    uint32_t name_size, size, type;
};

enum : uint32_t { kLoad = 1, kDynamic = 2, kNote = 4, kStack = 0x6474e551, kMayExecute = 1 };
enum : int64_t { kEnd = 0, kNeeded = 1, kStrings = 5, kOldRunPath = 15, kRunPath = 29 };
constexpr uint16_t kSharedObject = 3;
// The most of each table; real files have some 10 program headers, 40 entries and 3 notes.
constexpr size_t kMostPrograms = 512;
constexpr uint64_t kMostEntries = 4096;
constexpr uint64_t kMostNotes = 256;
constexpr uint64_t kMostNoteBytes = 1u << 16;  // of a segment of notes
constexpr uint32_t kMostNote = 8192;

// Where a file says nothing of its stack, the loader of these machines leaves it as it is; that of the others makes it executable
// (DEFAULT_STACK_PERMS of glibc).
bool stack_is_executable_by_default(uint32_t machine) {
    enum : uint32_t { kPowerPc64 = 21, kArm64 = 183, kLoongArch = 258 };
    return machine != kPowerPc64 && machine != kArm64 && machine != kLoongArch;
}

void problem(Inspection& into, ReasonCode code, std::string text) {
    if (into.problem != ReasonCode::none) return;
    into.problem = code;
    into.text = std::move(text);
}

class Elf {
public:
    Elf(const ByteSource& source, Inspection& into) : source_(source), into_(into) {}

    std::vector<std::byte> read() {
        if (!read_header() || !read_program_headers()) return {};
        check_complete();
        if (into_.problem != ReasonCode::none) return {};
        read_stack();
        for (const ProgramHeader& p : programs_)
            if (p.type == kNote) read_notes(p);
        for (const ProgramHeader& p : programs_)
            if (p.type == kDynamic && p.file_size != 0) read_dynamic(p);
        return std::move(note_);
    }

    std::vector<std::byte> read_notes_alone() {
        read_notes({kNote, 0, 0, 0, 0, source_.size(), source_.size(), 4});
        return std::move(note_);
    }

private:
    bool read_header() {
        Binary& binary = into_.binary;
        binary.format = Format::elf;
        std::array<uint8_t, 20> start{};
        if (!source_.get(0, start)) return truncated("cut off inside its ELF header");
        binary.bits = start[4] == 2 ? 64 : start[4] == 1 ? 32 : 0;
        binary.little_endian = start[5] == 1;
        binary.machine = binary.little_endian ? start[18] | start[19] << 8 : start[19] | start[18] << 8;
        if (binary.bits != 64 || !binary.little_endian) return false;  // the machine says the rest
        if (!source_.get(0, header_)) return truncated("cut off inside its ELF header");
        if (header_.type != kSharedObject) {
            problem(into_, ReasonCode::not_a_module, "an ELF file, but not a shared library");
            return false;
        }
        return true;
    }

    bool truncated(const char* text) {
        problem(into_, ReasonCode::truncated, text);
        return false;
    }

    void too_large(const std::string& what, uint64_t most) {
        problem(into_, ReasonCode::too_large, "it has more than " + std::to_string(most) + " " + what);
    }

    bool read_program_headers() {
        if (header_.program_size != sizeof(ProgramHeader) || header_.program_count == 0) {
            problem(into_, ReasonCode::not_a_module, "its program headers are not those of a 64-bit shared library");
            return false;
        }
        if (header_.program_count > kMostPrograms) {
            too_large("program headers", kMostPrograms);
            return false;
        }
        programs_.resize(header_.program_count);
        if (!source_.read(header_.program_headers, std::as_writable_bytes(std::span(programs_))))
            return truncated("cut off: its program headers lie outside the file");
        // The loader would take one of them, and not every loader the same.
        const auto dynamic = std::count_if(programs_.begin(), programs_.end(),
                                           [](const ProgramHeader& p) { return p.type == kDynamic && p.file_size != 0; });
        if (dynamic > 1) {
            problem(into_, ReasonCode::not_a_module,
                    "it has " + std::to_string(dynamic) + " dynamic sections; a shared library has one");
            return false;
        }
        return true;
    }

    // What the system would map must be there: a segment past the end is a SIGBUS inside dlopen().
    void check_complete() {
        const uint64_t size = source_.size();
        for (const ProgramHeader& p : programs_) {
            if (p.type != kLoad || (p.offset <= size && p.file_size <= size - p.offset)) continue;
            truncated("");
            into_.text = "cut off at " + std::to_string(size) + " bytes: a segment goes on after them";
            return;
        }
        const uint64_t sections = uint64_t{header_.section_size} * header_.section_count;
        if (header_.section_headers != 0 && (header_.section_headers > size || sections > size - header_.section_headers)) {
            truncated("");
            into_.text = "cut off at " + std::to_string(size) + " bytes: its section headers go on after them";
        }
    }

    void read_stack() {
        const auto stack =
            std::find_if(programs_.begin(), programs_.end(), [](const ProgramHeader& p) { return p.type == kStack; });
        into_.binary.executable_stack = stack != programs_.end() ? (stack->flags & kMayExecute) != 0
                                                                 : stack_is_executable_by_default(into_.binary.machine);
    }

    void read_notes(const ProgramHeader& p) {
        const uint64_t align = p.alignment == 8 ? 8 : 4;
        auto up = [align](uint64_t n) { return (n + align - 1) & ~(align - 1); };
        const uint64_t most = std::min(p.file_size, kMostNoteBytes);
        for (uint64_t at = 0; at + sizeof(NoteHeader) <= most && source_.step();) {
            if (++notes_ > kMostNotes) return too_large("notes", kMostNotes);
            NoteHeader note{};
            if (!source_.get(p.offset + at, note)) return;
            const uint64_t body = at + up(sizeof note + uint64_t{note.name_size});
            const uint64_t next = body + up(note.size);
            if (note.name_size > most || note.size > most || next > up(most)) return;
            take_note(note, p.offset + at + sizeof note, p.offset + body);
            at = next;
        }
    }

    // Of several of a kind the first counts.
    void take_note(const NoteHeader& note, uint64_t name_at, uint64_t body_at) {
        std::array<char, 16> name{};
        if (note.name_size < 4 || note.name_size > name.size() || note.size > kMostNote) return;
        if (!source_.read(name_at, std::as_writable_bytes(std::span(name)).first(note.name_size))) return;
        const std::string_view all(name.data(), note.name_size);
        const std::string_view owner = all.substr(0, all.find('\0'));
        const bool ours = owner == "Backplane" && note.type == 1 && note_.empty();
        const bool build_id = owner == "GNU" && note.type == 3 && note.size <= 64 && into_.binary.build_id.empty();
        if (!ours && !build_id) return;
        std::vector<std::byte> bytes(note.size);
        if (!source_.read(body_at, bytes)) return;
        if (ours) {
            note_ = std::move(bytes);
            return;
        }
        static constexpr char kDigits[] = "0123456789abcdef";
        for (const std::byte b : bytes) {
            into_.binary.build_id += kDigits[std::to_integer<unsigned>(b >> 4)];
            into_.binary.build_id += kDigits[std::to_integer<unsigned>(b & std::byte{15})];
        }
    }

    // Where an address of the loaded image stands in the file; the file's size when nowhere.
    [[nodiscard]] uint64_t offset_of(uint64_t address) const {
        for (const ProgramHeader& p : programs_)
            if (source_.step() && p.type == kLoad && address >= p.address && address - p.address < p.file_size)
                return p.offset + (address - p.address);
        return source_.size();
    }

    // As the loader reads it: from where it is mapped, of a tag that comes twice the last.
    void read_dynamic(const ProgramHeader& p) {
        std::vector<Dynamic> entries(std::min(p.file_size / sizeof(Dynamic), kMostEntries));
        if (!source_.read(offset_of(p.address), std::as_writable_bytes(std::span(entries)))) return;
        const auto end = std::find_if(entries.begin(), entries.end(), [](const Dynamic& d) { return d.tag == kEnd; });
        if (end == entries.end() && p.file_size / sizeof(Dynamic) > kMostEntries)
            return too_large("entries in its dynamic section", kMostEntries);
        entries.erase(end, entries.end());
        auto last = [&](int64_t tag) {
            return std::find_if(entries.rbegin(), entries.rend(), [&](const Dynamic& d) { return d.tag == tag; });
        };
        const auto strings = last(kStrings);
        if (strings == entries.rend()) return;
        strings_ = offset_of(strings->value);
        for (const Dynamic& d : entries)
            if (d.tag == kNeeded && source_.step() && !add_needed(d.value)) return;
        auto run_path = last(kRunPath);
        if (run_path == entries.rend()) run_path = last(kOldRunPath);
        if (run_path != entries.rend()) add_run_paths(run_path->value);
    }

    [[nodiscard]] std::optional<std::string> string_at(uint64_t offset, size_t most) const {
        return offset < source_.size() ? source_.text(strings_ + offset, most) : std::string();
    }

    // False: no more, `problem` says why.
    bool add_needed(uint64_t offset) {
        std::optional<std::string> name = string_at(offset, kMostName);
        if (!name) {
            problem(into_, ReasonCode::too_large,
                    "the name of a library that it needs has more than " + std::to_string(kMostName) + " bytes");
        } else if (!name->empty()) {
            if (into_.binary.needed.size() < kMostNeeded)
                into_.binary.needed.push_back(std::move(*name));
            else
                too_large("libraries that it needs", kMostNeeded);
        }
        return into_.problem == ReasonCode::none;
    }

    void add_run_paths(uint64_t offset) {
        const std::optional<std::string> list = string_at(offset, kMostRunPaths * size_t{kMostName});
        if (!list) return too_large("bytes of folders in its run path", kMostRunPaths * kMostName);
        for (size_t at = 0; at < list->size();) {
            const size_t end = std::min(list->find(':', at), list->size());
            const std::string folder = expanded(std::string_view(*list).substr(at, end - at));
            at = end + 1;
            if (folder.empty()) continue;
            if (into_.binary.run_paths.size() == kMostRunPaths) return too_large("folders in its run path", kMostRunPaths);
            add_run_path(into_.binary, folder);
        }
    }

    // With the file's own folder put in. Empty: no path, or one that only the loader can tell.
    std::string expanded(std::string_view folder) {
        std::string text;
        while (!folder.empty() && text.size() <= kMostName) {
            const size_t dollar = std::min(folder.find('$'), folder.size());
            text += folder.substr(0, dollar);
            folder.remove_prefix(dollar);
            if (folder.empty()) break;
            if (starts_with_word(folder, "ORIGIN")) {
                text += into_.path.parent_path().string();
            } else if (starts_with_word(folder, "LIB") || starts_with_word(folder, "PLATFORM")) {
                into_.binary.more_run_paths = true;
                return {};
            } else {
                text += '$';
                folder.remove_prefix(1);
            }
        }
        return text.size() <= kMostName ? text : std::string();
    }

    // Takes "$WORD" or "${WORD}" off the start.
    static bool starts_with_word(std::string_view& text, std::string_view word) {
        const bool braces = text.starts_with("${");
        const std::string_view rest = text.substr(braces ? 2 : 1);
        if (!rest.starts_with(word)) return false;
        const std::string_view after = rest.substr(word.size());
        const bool ends =
            braces ? after.starts_with('}')
                   : after.empty() || (std::isalnum(static_cast<unsigned char>(after[0])) == 0 && after[0] != '_');
        if (ends) text = after.substr(braces ? 1 : 0);
        return ends;
    }

    const ByteSource& source_;
    Inspection& into_;
    Header header_{};
    std::vector<ProgramHeader> programs_;
    uint64_t strings_ = 0;  // where those of the dynamic section stand in the file
    uint64_t notes_ = 0;
    std::vector<std::byte> note_;
};

}  // namespace

std::vector<std::byte> read_elf(const ByteSource& source, Inspection& into) {
    return within_limits(source, into, Elf(source, into).read());
}

std::vector<std::byte> read_elf_notes(const ByteSource& notes, Inspection& into) {
    return within_limits(notes, into, Elf(notes, into).read_notes_alone());
}

}  // namespace backplane::discovery
