#include "base/user_folder.hpp"

#include <exception>

#include "base/replacing_file.hpp"

namespace backplane::base {

std::string write_whole_file(const std::filesystem::path& path, const std::string& content) {
    if (std::string problem = make_own_folder(path.parent_path()); !problem.empty()) return problem;
    try {
        ReplacingFile file(path, {.only_mine = true});
        file.write(std::as_bytes(std::span(content)));
        file.commit();
    } catch (const std::exception& error) {
        return error.what();
    }
    return {};
}

}  // namespace backplane::base
