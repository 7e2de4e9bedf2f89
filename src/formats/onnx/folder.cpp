#include "formats/onnx/folder.hpp"

#include <algorithm>

#include "backplane/error.hpp"
#include "base/file.hpp"
#include "gguf/printable.hpp"

namespace backplane::formats {

namespace fs = std::filesystem;

namespace {

constexpr size_t kMostFiles = 4096;

bool is_below(const fs::path& file, const fs::path& folder) {
    const auto [in_folder, in_file] = std::mismatch(folder.begin(), folder.end(), file.begin(), file.end());
    return !folder.empty() && in_folder == folder.end() && in_file != file.end();
}

}  // namespace

OnnxFolder::OnnxFolder(const fs::path& model) : folder_(model.parent_path()) {
    if (folder_.empty()) folder_ = ".";
    roots_[0] = base::real_path(folder_);
    roots_[1] = base::real_path(model).parent_path();
}

std::span<const std::byte> OnnxFolder::bytes(const std::string& location) {
    if (const auto found = files_.find(location); found != files_.end()) return found->second.bytes();
    const auto refuse = [&](Code code, const std::string& why) {
        throw Error(code, "cannot read the model's tensors from " + printable(location) + ": " + why);
    };
    const fs::path path = base::path_of(location);
    const auto is_up = [](const fs::path& part) { return part == ".."; };
    if (location.empty() || location.find('\0') != std::string::npos || path.has_root_path() ||
        std::any_of(path.begin(), path.end(), is_up))
        refuse(Code::denied, "it may name files in its own folder alone");
    if (files_.size() == kMostFiles) refuse(Code::invalid, "more than " + std::to_string(kMostFiles) + " files");
    const fs::path real = base::real_path(folder_ / path);
    if (real.empty())
        refuse(Code::not_found,
               "there is no such file in '" + folder_.string() + "': it belongs to the model, put it there");
    if (!is_below(real, roots_[0]) && !is_below(real, roots_[1]))
        refuse(Code::denied, "it is a link to '" + real.string() + "', outside of the model's folder");
    return files_.emplace(location, MappedFile(real, Links::refuse)).first->second.bytes();
}

}  // namespace backplane::formats
