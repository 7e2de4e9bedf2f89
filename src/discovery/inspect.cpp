#include "discovery/inspect.hpp"

#include <array>
#include <bit>
#include <string_view>

#include "base/dynamic_library.hpp"
#include "base/environment.hpp"
#include "base/machine.hpp"
#include "discovery/sources.hpp"

namespace backplane::discovery {

namespace {

// A sidecar that says which file it was written for is good for no other: its neighbour may have been replaced since.
void check_sidecar_is_for(Inspection& into, const std::filesystem::path& sidecar) {
    if (into.problem != ReasonCode::none || !into.descriptor) return;
    const Descriptor& d = *into.descriptor;
    const bool other_size = d.file_bytes != 0 && d.file_bytes != into.status.size;
    const bool other_build = !d.file_build_id.empty() && d.file_build_id != into.binary.build_id;
    if (!other_size && !other_build) return;
    into.problem = ReasonCode::bad_descriptor;
    into.text = "its sidecar " + sidecar.filename().string() + " was written for another file (" +
                (other_size ? std::to_string(d.file_bytes) + " bytes" : "build " + d.file_build_id) +
                "): remove it, or write it anew with `backplane modules index`";
}

void take_sidecar(Inspection& into) {
    std::filesystem::path sidecar = into.path;
    sidecar += ".backplane.json";
    if (base::status_of(sidecar).kind == base::FileStatus::Kind::missing) return;
    into.from_sidecar = true;
    try {
        const base::File file(sidecar);
        std::string json(std::min<uint64_t>(file.status().size, 4097), '\0');
        json.resize(file.read_at(0, std::as_writable_bytes(std::span(json))));
        if (!file.status().trusted()) {
            into.problem = ReasonCode::writable_by_others;
            into.text =
                "its sidecar " + sidecar.filename().string() + " belongs to somebody else or may be written by others";
            return;
        }
        read_descriptor_json(json, BP_ABI, 0, into);
        check_sidecar_is_for(into, sidecar);
    } catch (const Error& error) {
        into.problem = ReasonCode::unreadable;
        into.text = error.what();
    }
}

void read_binary(const ByteSource& source, Inspection& into) {
    std::array<char, 4> magic{};
    if (!source.get(0, magic)) {
        into.problem = source.size() == 0 ? ReasonCode::truncated : ReasonCode::not_a_module;
        into.text = source.size() == 0 ? "an empty file" : "too short to be a shared library";
        return;
    }
    const std::string_view start(magic.data(), 4);
    std::vector<std::byte> note;
    if (start == "\177ELF") {
        note = read_elf(source, into);
    } else if (start.substr(0, 2) == "MZ") {
        note = read_pe(source, into);
    } else if (start == "\xcf\xfa\xed\xfe" || start == "\xce\xfa\xed\xfe" || start == "\xca\xfe\xba\xbe" ||
               start == "\xca\xfe\xba\xbf") {
        note = read_macho(source, into);
    } else {
        into.problem = ReasonCode::not_a_module;
        into.text = "not a shared library: it starts with other bytes";
        return;
    }
    if (into.problem == ReasonCode::none && !note.empty()) read_descriptor(note, into);
}

// The loader reads it so: nothing between two separators is where the process stands.
bool names_the_current_directory(std::string_view list) {
    for (size_t at = 0; !list.empty() && at <= list.size();) {
        const size_t end = std::min(list.find_first_of(":;", at), list.size());
        if (list.substr(at, 1) != "/") return true;
        at = end + 1;
    }
    return false;
}

}  // namespace

namespace {

Inspection read(const std::filesystem::path& path) {
    Inspection result;
    result.path = path;
    try {
        const base::File file(path);
        result.status = file.status();
        read_binary(FileBytes(file), result);
    } catch (const Error& error) {
        result.status = base::status_of(path);
        result.problem =
            result.status.kind == base::FileStatus::Kind::regular ? ReasonCode::unreadable : ReasonCode::not_a_module;
        if (result.status.kind == base::FileStatus::Kind::missing) result.problem = ReasonCode::unreadable;
        result.text = error.what();
    }
    return result;
}

}  // namespace

Binary binary_of(const std::filesystem::path& library) { return read(library).binary; }

Inspection inspect(const std::filesystem::path& path) {
    Inspection result = read(path);
    const bool readable = result.problem == ReasonCode::none && result.binary.bits == host_binary().bits;
    if (readable && !result.descriptor) take_sidecar(result);
    return result;
}

Inspection inspect_by_name(const std::filesystem::path& name, base::DynamicLibrary& library) {
    Inspection result;
    result.path = name;
    if (names_the_current_directory(base::environment("LD_LIBRARY_PATH").value_or(""))) {
        result.problem = ReasonCode::load_failed;
        result.text = "not looked for: LD_LIBRARY_PATH names the current directory (an empty or relative item)";
        return result;
    }
    try {
        library = base::DynamicLibrary(name);
    } catch (const Error& error) {
        result.problem = ReasonCode::load_failed;
        result.text = std::string("the system would not load it: ") + error.what();
        return result;
    }
    const std::filesystem::path file = library.file();
    if (file.is_absolute() && base::status_of(file).kind == base::FileStatus::Kind::regular) {
        const Distrust distrust = distrust_of_folder(base::real_path(file).parent_path());
        if (distrust.code == ReasonCode::none) return inspect(file);
        result.problem = distrust.code;
        result.text = "found by its name in " + file.parent_path().string() + ": " + distrust.text;
        return result;
    }
    result.binary = host_binary();  // it is loaded
    for (const std::span<const std::byte> segment : library.notes()) {
        const std::vector<std::byte> note = read_elf_notes(MemoryBytes(segment), result);
        if (!note.empty()) read_descriptor(note, result);
    }
    // A trial in a child would start from a name that another process may not find.
    if (result.descriptor) result.descriptor->probe_in_child = false;
    return result;
}

void add_run_path(Binary& binary, std::string_view folder) {
    try {
        binary.run_paths.push_back(base::path_of(folder));
    } catch (const std::exception&) {
        // Where paths are wide, bytes that are no UTF-8 have none.
    }
}

std::vector<std::byte> within_limits(const ByteSource& source, Inspection& into, std::vector<std::byte> descriptor) {
    into.work = source.work();
    if (!source.used_up()) return descriptor;
    // What a reader says of a table that it was not let read to its end is not true.
    return into.stop(ReasonCode::too_large, "reading its headers takes more than " + std::to_string(kMostWork.reads) +
                                                " reads, " + std::to_string(kMostWork.bytes) + " bytes or " +
                                                std::to_string(kMostWork.steps) + " rows of tables");
}

// From the compiler: a program that cannot read its own file (no /proc, a static one, one in an archive) knows it as well.
const Binary& host_binary() {
    static const Binary kHost = [] {
        Binary own;
        const base::Machine machine = base::this_machine();
        own.format = host_format();
        own.machine = own.format == Format::elf ? machine.elf : own.format == Format::pe ? machine.pe : machine.macho;
        own.bits = 8 * sizeof(void*);
        own.little_endian = std::endian::native == std::endian::little;
        return own;
    }();
    return kHost;
}

std::string name_of_machine(const Binary& binary) {
    struct Row {
        Format format;
        uint32_t machine;
        const char* name;
    };
    static constexpr std::array kRows{
        Row{Format::elf, 62, "x86-64"},          Row{Format::elf, 183, "arm64"},
        Row{Format::elf, 3, "x86 (32-bit)"},     Row{Format::elf, 40, "arm"},
        Row{Format::elf, 243, "RISC-V"},         Row{Format::elf, 21, "PowerPC 64"},
        Row{Format::elf, 258, "LoongArch"},      Row{Format::elf, 22, "S/390"},
        Row{Format::pe, 0x8664, "x86-64"},       Row{Format::pe, 0xaa64, "arm64"},
        Row{Format::pe, 0x14c, "x86 (32-bit)"},  Row{Format::macho, 0x01000007, "x86-64"},
        Row{Format::macho, 0x0100000c, "arm64"},
    };
    std::string name = "machine " + std::to_string(binary.machine);
    for (const Row& row : kRows)
        if (row.format == binary.format && row.machine == binary.machine) name = row.name;
    const char* system = binary.format == Format::pe ? "Windows on " : binary.format == Format::macho ? "macOS on " : "";
    return system + name;
}

}  // namespace backplane::discovery
