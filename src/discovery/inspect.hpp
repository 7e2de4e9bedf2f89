// Inspecting: what a file is and says of itself, read from its bytes. No code of the file runs, whatever is in it.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backplane/context.hpp"
#include "base/dynamic_library.hpp"
#include "base/file.hpp"
#include "discovery/byte_source.hpp"

namespace backplane::discovery {

// The interface that this library loads modules of; what a descriptor does not say otherwise.
inline constexpr std::string_view kOwnInterface = "backplane";

enum class Format { none, elf, pe, macho };

// The most of each that is read of one file; what has more is `too_large`.
enum : uint32_t { kMostNeeded = 256, kMostRunPaths = 64, kMostName = 4096 };

// What of a file decides whether it can run here.
struct Binary {
    Format format = Format::none;
    uint32_t machine = 0;  // e_machine, Machine of the COFF header, or cputype of Mach-O
    uint32_t bits = 0;     // 32 or 64
    bool little_endian = true;
    std::vector<std::string> needed;  // sonames
    std::vector<std::filesystem::path> run_paths;
    bool more_run_paths = false;    // there are some whose names only the loader can tell ($LIB, $PLATFORM)
    bool executable_stack = false;  // loading it would make the stacks of the process executable
    std::string build_id;           // hexadecimal; empty: none
    bool operator==(const Binary&) const = default;
};

struct Inspection {
    std::filesystem::path path;
    base::FileStatus status;
    Binary binary;
    std::optional<Descriptor> descriptor;  // also with a problem, as far as it could be read
    bool from_sidecar = false;
    bool believed = true;  // when it says that it needs no trial: it lies where the application's own modules do
    ReasonCode problem = ReasonCode::none;  // why this cannot be a module, whatever the machine
    std::string text;                       // the problem in a sentence
    Work work;                              // what reading it took, never more than kMostWork and one read

    // Is it to be tried in a child process before it comes into this one?
    [[nodiscard]] bool wants_trial() const { return descriptor && (descriptor->probe_in_child || !believed); }

    // Notes the problem; gives what a reader returns for a file without a note.
    std::vector<std::byte> stop(ReasonCode code, std::string sentence) {
        problem = code;
        text = std::move(sentence);
        return {};
    }
};

// Never throws for what a file holds. A file without a descriptor of its own is asked for its sidecar, PATH.backplane.json.
Inspection inspect(const std::filesystem::path& path);

// Of any library, of which nothing else is asked: no sidecar is looked for, which takes Windows longer than to read the file.
Binary binary_of(const std::filesystem::path& library);

// A library that the system's loader finds by its name alone. It is opened, and its constructors run; then it is judged by its file, or
// where there is none to read, by its note in memory. `library` keeps it open. Throws nothing.
Inspection inspect_by_name(const std::filesystem::path& name, base::DynamicLibrary& library);

// The readers, for inspect(), tests and fuzzers. Each fills in what it can and sets `problem` at the first thing that is wrong.
// Returns the bytes of the descriptor (prefix and JSON), empty when there is none.
std::vector<std::byte> read_elf(const ByteSource& source, Inspection& into);
std::vector<std::byte> read_elf_notes(const ByteSource& notes, Inspection& into);  // one segment of notes alone
std::vector<std::byte> read_pe(const ByteSource& source, Inspection& into);
std::vector<std::byte> read_macho(const ByteSource& source, Inspection& into);

// For the readers: the last step of each. Takes note of the work; a file that took too much gives no descriptor and says so.
std::vector<std::byte> within_limits(const ByteSource& source, Inspection& into, std::vector<std::byte> descriptor);

// For the readers. A text that is no path on this system names no folder here, and is left out.
void add_run_path(Binary& binary, std::string_view folder);

// Prefix and JSON as in note.h.
void read_descriptor(std::span<const std::byte> bytes, Inspection& into);
// The JSON alone, for sidecars and linked-in modules; `abi` and `flags` stand in for the prefix.
void read_descriptor_json(std::string_view json, uint32_t abi, uint32_t flags, Inspection& into);

// A word of filters and options ("auto", "discrete", "name") that no backend may be called by.
bool is_reserved(std::string_view backend);

// What the running program is built for.
const Binary& host_binary();
Format host_format() noexcept;  // of the module files of this system

// "x86-64", "arm64", "machine 0x1234"
std::string name_of_machine(const Binary& binary);

}  // namespace backplane::discovery
