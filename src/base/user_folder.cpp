#include "base/user_folder.hpp"

#include <exception>
#include <span>

#include "base/file.hpp"
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

std::optional<std::string> read_own_file(const std::filesystem::path& path, uint64_t most) {
    if (status_of(path).kind != FileStatus::Kind::regular)
        return std::nullopt;  // mostly there is none, and to throw takes long
    try {
        const File file(path);
        if (file.status().size > most || !file.status().trusted()) return std::nullopt;
        std::string text(file.status().size, '\0');
        text.resize(file.read_at(0, std::as_writable_bytes(std::span(text))));
        return text;
    } catch (const std::exception&) {
        return std::nullopt;
    }
}

}  // namespace backplane::base
