#include "base/user_folder.hpp"

#include <exception>

#include "base/file.hpp"
#include "base/replacing_file.hpp"

namespace backplane::base {

std::string write_whole_file(const std::filesystem::path& path, const std::string& content) {
    if (std::string problem = make_own_folder(path.parent_path()); !problem.empty()) return problem;
    try {
        write_text(path, content, {.only_mine = true});
    } catch (const std::exception& error) {
        return error.what();
    }
    return {};
}

std::optional<std::string> read_own_file(const std::filesystem::path& path, uint64_t most) {
    if (status_of(path).kind != FileStatus::Kind::regular)
        return std::nullopt;  // mostly there is none, and to throw takes long
    try {
        const File file(path);
        if (file.status().size > most || !file.status().trusted()) return std::nullopt;
        return text_of(file);
    } catch (const std::exception&) {
        return std::nullopt;
    }
}

}  // namespace backplane::base
