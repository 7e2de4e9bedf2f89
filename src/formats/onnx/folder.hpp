// The files that tensors of a model lie in, beside it.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>

#include "gguf/mapped_file.hpp"

namespace backplane::formats {

// What a model may name: files in its own folder and below, by relative paths without "..", that links lead nowhere else from. Files stay mapped.
class OnnxFolder {
public:
    // Of the model's file, which may be a link: the folder that it points into counts as well.
    explicit OnnxFolder(const std::filesystem::path& model);

    // As OnnxFiles. Throws Error: denied (outside of the folder, by the model's words or by a link), not_found, invalid (no regular file; too many).
    std::span<const std::byte> bytes(const std::string& location);

private:
    std::filesystem::path folder_;
    std::filesystem::path roots_[2];
    std::map<std::string, MappedFile> files_;
};

}  // namespace backplane::formats
