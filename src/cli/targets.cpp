#include "cli/targets.hpp"

#include <filesystem>

#include "base/file.hpp"
#include "cli/usage.hpp"

namespace backplane::cli {

namespace fs = std::filesystem;

bool is_same_file(const std::string& a, const std::string& b) {
    const fs::path left = base::path_of(a), right = base::path_of(b);
    const base::FileStatus first = base::status_of(left), second = base::status_of(right);
    using Kind = base::FileStatus::Kind;
    if (first.kind != Kind::missing || second.kind != Kind::missing)
        return first.kind == second.kind && first.volume == second.volume && first.number == second.number;
    std::error_code failed;
    return fs::weakly_canonical(fs::absolute(left, failed), failed) ==
           fs::weakly_canonical(fs::absolute(right, failed), failed);
}

void check_target(const std::string& what, const std::string& target, const std::string& input, bool force) {
    if (force) return;
    if (is_same_file(target, input))
        throw UsageError(what + " '" + target +
                         "' is the input itself, which would be lost; name another file, or say --force");
    std::error_code failed;
    const fs::file_status status = fs::status(base::path_of(target), failed);
    constexpr fs::perms kWrite = fs::perms::owner_write | fs::perms::group_write | fs::perms::others_write;
    if (fs::is_regular_file(status) && (status.permissions() & kWrite) == fs::perms::none)
        throw UsageError(what + " '" + target + "' is there already and read-only; name another file, or say --force");
}

}  // namespace backplane::cli
