// Files to find: a real module file (the minimal example), its bytes changed, in folders of the test's own.
#pragma once

#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "discovery/inspect.hpp"
#include "support/system.hpp"

namespace backplane::discovery::testing {

namespace fs = std::filesystem;

using Bytes = std::vector<std::byte>;

inline Bytes module_bytes() {
    Bytes bytes(fs::file_size(BP_TEST_MINIMAL));
    std::ifstream(BP_TEST_MINIMAL, std::ios::binary)
        .read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    return bytes;
}

inline void write(const fs::path& path, const Bytes& bytes) {
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

template <typename T>
void patch(Bytes& bytes, size_t at, T value) {
    std::memcpy(bytes.data() + at, &value, sizeof value);
}

// Where the prefix of the descriptor stands.
inline size_t note_of(const Bytes& bytes) {
    const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return text.find("BPN1");
}

// Makes it a file without a descriptor: another owner of the ELF note, another name of the PE section.
inline void hide_note(Bytes& bytes) {
    const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const size_t section = text.find(".bpnote");
    if (text.compare(0, 2, "MZ") == 0 && section != std::string::npos)
        std::memcpy(bytes.data() + section, ".others", 7);
    else
        std::memcpy(bytes.data() + note_of(bytes) - 12, "Somebody\0", 9);
}

// A folder that goes with the test.
class Folder {
public:
    Folder() : path_(test::make_temporary_folder()) {}
    ~Folder() {
        std::error_code ignored;
        fs::remove_all(path_, ignored);
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    [[nodiscard]] const fs::path& path() const { return path_; }
    fs::path add(const std::string& name, const Bytes& bytes) const {
        write(path_ / name, bytes);
        return path_ / name;
    }

private:
    fs::path path_;
};

using test::library;

// By the reader of this platform's own files.
inline Inspection inspect_bytes(const Bytes& bytes) {
    Inspection result;
    const bool pe = host_binary().format == Format::pe;
    const std::vector<std::byte> note = pe ? read_pe(MemoryBytes(bytes), result) : read_elf(MemoryBytes(bytes), result);
    if (result.problem == ReasonCode::none && !note.empty()) read_descriptor(note, result);
    return result;
}

}  // namespace backplane::discovery::testing
