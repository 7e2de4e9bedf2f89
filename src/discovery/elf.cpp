// ELF, as far as loading needs it. Format: System V ABI, chapters 4 and 5; notes of GNU: build id.
#include <algorithm>
#include <array>

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

enum : uint32_t { kLoad = 1, kDynamic = 2, kNote = 4 };
constexpr uint16_t kSharedObject = 3;
constexpr uint64_t kLargest = 1u << 16;  // of a table we walk; real ones are a few hundred bytes
constexpr uint32_t kMostNote = 8192;

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
        for (const ProgramHeader& p : programs_)
            if (p.type == kNote) read_notes(p);
        for (const ProgramHeader& p : programs_)
            if (p.type == kDynamic) read_dynamic(p);
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

    bool read_program_headers() {
        if (header_.program_size != sizeof(ProgramHeader) || header_.program_count == 0 || header_.program_count > 512) {
            problem(into_, ReasonCode::not_a_module, "its program headers are not those of a 64-bit shared library");
            return false;
        }
        programs_.resize(header_.program_count);
        if (!source_.read(header_.program_headers, std::as_writable_bytes(std::span(programs_))))
            return truncated("cut off: its program headers lie outside the file");
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

    void read_notes(const ProgramHeader& p) {
        const uint64_t align = p.alignment == 8 ? 8 : 4;
        auto up = [align](uint64_t n) { return (n + align - 1) & ~(align - 1); };
        const uint64_t most = std::min(p.file_size, kLargest);
        for (uint64_t at = 0; at + sizeof(NoteHeader) <= most;) {
            NoteHeader note{};
            if (!source_.get(p.offset + at, note)) return;
            const uint64_t body = at + up(sizeof note + uint64_t{note.name_size});
            const uint64_t next = body + up(note.size);
            if (note.name_size > most || note.size > most || next > up(most)) return;
            take_note(note, p.offset + at + sizeof note, p.offset + body);
            at = next;
        }
    }

    void take_note(const NoteHeader& note, uint64_t name_at, uint64_t body_at) {
        if (note.name_size < 4 || note.name_size > 16 || note.size > kMostNote) return;
        const std::string owner = source_.text(name_at);
        std::vector<std::byte> bytes(note.size);
        if (owner == "Backplane" && note.type == 1 && note_.empty() && source_.read(body_at, bytes)) note_ = bytes;
        if (owner == "GNU" && note.type == 3 && note.size <= 64 && source_.read(body_at, bytes)) {
            static constexpr char kDigits[] = "0123456789abcdef";
            for (const std::byte b : bytes) {
                into_.binary.build_id += kDigits[std::to_integer<unsigned>(b >> 4)];
                into_.binary.build_id += kDigits[std::to_integer<unsigned>(b & std::byte{15})];
            }
        }
    }

    // Where an address of the loaded image stands in the file; the file's size when nowhere.
    [[nodiscard]] uint64_t offset_of(uint64_t address) const {
        for (const ProgramHeader& p : programs_)
            if (p.type == kLoad && address >= p.address && address - p.address < p.file_size)
                return p.offset + (address - p.address);
        return source_.size();
    }

    void read_dynamic(const ProgramHeader& p) {
        std::vector<Dynamic> entries(std::min(p.file_size, kLargest) / sizeof(Dynamic));
        if (!source_.read(p.offset, std::as_writable_bytes(std::span(entries)))) return;
        uint64_t strings = source_.size();
        for (const Dynamic& d : entries)
            if (d.tag == 5) strings = offset_of(d.value);
        for (const Dynamic& d : entries) {
            if (d.tag == 0) break;
            if (d.value > kLargest * 16) continue;
            if (d.tag == 1 && into_.binary.needed.size() < 256)
                into_.binary.needed.push_back(source_.text(strings + d.value));
            if (d.tag == 15 || d.tag == 29) add_run_paths(source_.text(strings + d.value));
        }
        std::erase(into_.binary.needed, "");
    }

    void add_run_paths(std::string_view list) {
        const std::string origin = into_.path.parent_path().string();
        for (size_t at = 0; at < list.size();) {
            const size_t end = std::min(list.find(':', at), list.size());
            std::string folder(list.substr(at, end - at));
            for (const std::string_view word : {"${ORIGIN}", "$ORIGIN"})
                if (const size_t found = folder.find(word); found != std::string::npos)
                    folder.replace(found, word.size(), origin);
            if (!folder.empty()) add_run_path(into_.binary, folder);
            at = end + 1;
        }
    }

    const ByteSource& source_;
    Inspection& into_;
    Header header_{};
    std::vector<ProgramHeader> programs_;
    std::vector<std::byte> note_;
};

}  // namespace

std::vector<std::byte> read_elf(const ByteSource& source, Inspection& into) { return Elf(source, into).read(); }

std::vector<std::byte> read_elf_notes(const ByteSource& notes, Inspection& into) {
    return Elf(notes, into).read_notes_alone();
}

}  // namespace backplane::discovery
