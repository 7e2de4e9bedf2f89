// Files to find: a real module file (the minimal example), its bytes changed, in folders of the test's own.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "discovery/inspect.hpp"

namespace backplane::discovery::testing {

namespace fs = std::filesystem;

using Bytes = std::vector<std::byte>;

inline Bytes module_bytes() {
    std::ifstream file(BP_TEST_MINIMAL, std::ios::binary);
    std::vector<char> text{std::istreambuf_iterator<char>(file), {}};
    Bytes bytes(text.size());
    std::memcpy(bytes.data(), text.data(), text.size());
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

// A folder that goes with the test.
class Folder {
public:
    Folder() {
        std::string name = (fs::temp_directory_path() / "backplane-test-XXXXXX").string();
        path_ = ::mkdtemp(name.data());
    }
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

inline Inspection inspect_elf(const Bytes& bytes) {
    Inspection result;
    const std::vector<std::byte> note = read_elf(MemoryBytes(bytes), result);
    if (result.problem == ReasonCode::none && !note.empty()) read_descriptor(note, result);
    return result;
}

}  // namespace backplane::discovery::testing
