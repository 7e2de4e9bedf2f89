// A JSON document out of a file of somebody else.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/json.hpp"
#include "gguf/mapped_file.hpp"

namespace backplane::formats {

inline constexpr size_t kMostJsonBytes = size_t{64} << 20;  // parsed, JSON takes several times its size

// `file` is for messages. Throws Error: corrupt (no JSON), unsupported (over kMostJsonBytes).
base::Json parse_json(std::string_view text, const std::string& file);
// Also throws what the system says: Error(not_found, denied).
base::Json read_json(const std::filesystem::path& path);

inline std::string_view text_of(const MappedFile& file) {
    return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

// The path of the file `name` beside `document`, which names it: a model of somebody else must not read anywhere but beside itself. Throws
// Error(corrupt) for what is not the name of a file.
std::filesystem::path beside(const std::filesystem::path& document, const std::string& name);

}  // namespace backplane::formats
