#include "cli/targets.hpp"

#include <filesystem>

#include "base/file.hpp"
#include "base/terminal.hpp"
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
    if (base::is_printed_to(base::status_of(base::path_of(target))))
        throw UsageError(
            what + " '" + target +
            "' is where this command prints to, and all of that would be lost; name another file, or say --force");
    std::error_code failed;
    const fs::file_status status = fs::status(base::path_of(target), failed);
    constexpr fs::perms kWrite = fs::perms::owner_write | fs::perms::group_write | fs::perms::others_write;
    if (fs::is_regular_file(status) && (status.permissions() & kWrite) == fs::perms::none)
        throw UsageError(what + " '" + target + "' is there already and read-only; name another file, or say --force");
}

void check_gguf_name(const std::string& what, const std::string& target) {
    if (base::path_of(target).extension() != ".gguf")
        throw UsageError(what + " '" + target + "' does not end in .gguf, which is what is written");
}

void check_target_beside(const std::string& what, const std::string& target, const std::vector<std::string>& inputs,
                         bool force) {
    check_target(what, target, "", force);
    for (const std::string& input : inputs) {
        using Kind = base::FileStatus::Kind;
        const fs::path path = base::path_of(input);
        const Kind kind = input.empty() ? Kind::missing : base::status_of(path).kind;
        if (kind != Kind::missing) check_target(what, target, input, force);
        if (kind != Kind::folder) continue;
        std::string problem;
        for (const fs::path& name : base::names_in(path, problem))
            if (name.extension() == ".safetensors" || name == "config.json" || name == "tokenizer.json")
                check_target(what, target, (path / name).string(), force);
    }
}

}  // namespace backplane::cli
