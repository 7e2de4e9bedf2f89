#include "base/replacing_file.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <random>
#include <system_error>

#include "base/file.hpp"
#include "base/file_error.hpp"

namespace backplane::base {

namespace {

namespace fs = std::filesystem;

constexpr const char* kAttempt = "cannot write";
constexpr size_t kTogether = 65536;   // small pieces are gathered up to this
constexpr size_t kLongestName = 240;  // file systems end at 255 bytes; found at the start and not after the work
constexpr int kNamesTried = 16;       // tried for the temporary file: 64 random bits are hardly ever taken
constexpr int kLinks = 40;            // what Linux follows

// What does not exist yet is taken as it is.
fs::path place_of(const fs::path& target, bool follow_links) {
    std::error_code ignored;
    if (!follow_links && fs::is_symlink(fs::symlink_status(target, ignored))) return target;
    const FileStatus status = status_of(target);
    if (status.kind == FileStatus::Kind::folder)
        throw Error(Code::invalid, "cannot write " + quoted(target) + ": it is a folder; name a file in it");
    if (status.kind == FileStatus::Kind::other)
        throw Error(Code::invalid, "cannot write " + quoted(target) + ": it is a device or pipe; name a plain file");
    // By hand: the library's canonical paths leave a link to nothing as it is.
    fs::path real = target;
    for (int links = 0; fs::is_symlink(fs::symlink_status(real, ignored)); ++links) {
        if (links == kLinks) throw file_error(kAttempt, target, ELOOP);
        real = real.parent_path() / fs::read_symlink(real, ignored);  // an absolute one replaces what is before it
    }
    return real;
}

constexpr std::string_view kPartial = ".partial";
constexpr size_t kMarkDigits = 8, kRandomDigits = 16;
constexpr int64_t kForeignAge = 86400;  // seconds
constexpr size_t kMostNames = 10000;    // in a folder with more nothing is swept: it would take longer than it is worth

bool is_hex(std::string_view text) { return text.find_first_not_of("0123456789abcdef") == std::string_view::npos; }

// What killed processes left in the folder.
void sweep(const fs::path& folder, std::string_view machine) {
    std::string problem;
    const std::vector<fs::path> names = names_in(folder.empty() ? "." : folder, problem, kMostNames);
    if (names.size() == kMostNames) return;
    for (const fs::path& path : names) {
        const std::u8string written = path.u8string();  // string() throws on Windows for names of another code page
        const std::string name(written.begin(), written.end());
        if (name[0] != '.' || !name.ends_with(kPartial)) continue;
        const std::string_view digits = std::string_view(name).substr(1, name.size() - 1 - kPartial.size());
        if (!is_hex(digits) || (digits.size() != kRandomDigits && digits.size() != kMarkDigits + kRandomDigits)) continue;
        const bool ours = digits.size() == kMarkDigits + kRandomDigits && digits.starts_with(machine);
        static_cast<void>(remove_abandoned(folder / path, ours ? 0 : kForeignAge));
    }
}

// Short, because the target's own name may already be as long as the file system allows.
std::string temporary_name(std::string_view mark) {
    std::random_device random;
    std::array<char, 32> name{};
    std::snprintf(name.data(), name.size(), "%08x%08x.partial", static_cast<unsigned>(random()),
                  static_cast<unsigned>(random()));
    return "." + std::string(mark) + name.data();
}

}  // namespace

ReplacingFile::ReplacingFile(const fs::path& target, ReplacingOptions options)
    : options_(options), target_(place_of(target, options.follow_links)) {
    if (target_.filename().native().size() > kLongestName) throw file_error(kAttempt, target, ENAMETOOLONG);
    // What was private is so from the first byte on.
    const bool replaces = status_of(target_).kind == FileStatus::Kind::regular;
    std::string mark(options_.mark);
    if (mark.empty()) {
        mark = machine_mark();
        sweep(target_.parent_path(), mark);
    }
    int error = EEXIST;
    for (int attempt = 0; attempt < kNamesTried && error == EEXIST; ++attempt) {
        temporary_ = target_.parent_path() / temporary_name(mark);
        error = file_.create(temporary_, options_.only_mine || replaces);
    }
    if (error != 0) throw file_error("cannot create", target, error);
    if (replaces && options_.follow_links) file_.take_permissions_of(target_);
}

ReplacingFile::~ReplacingFile() { remove(); }

bool ReplacingFile::try_write(std::span<const std::byte> bytes) noexcept {
    if (fault_ == 0 && !file_.is_open()) fault_ = EBADF;
    try {
        if (fault_ == 0 && waiting_.size() + bytes.size() > kTogether) fault_ = flush();
        if (fault_ == 0 && bytes.size() >= kTogether)
            fault_ = file_.write(bytes);
        else if (fault_ == 0)
            waiting_.insert(waiting_.end(), bytes.begin(), bytes.end());
    } catch (...) {
        fault_ = ENOMEM;
    }
    return fault_ == 0;
}

int ReplacingFile::flush() noexcept {
    const int error = file_.write(waiting_);
    waiting_.clear();
    return error;
}

void ReplacingFile::write(std::span<const std::byte> bytes) {
    if (!try_write(bytes)) throw file_error(kAttempt, target_, fault_);
}

void ReplacingFile::commit() {
    if (fault_ == 0) fault_ = flush();
    if (fault_ == 0 && options_.durable) fault_ = file_.sync();
    if (fault_ == 0) fault_ = file_.close();
    if (fault_ != 0) {
        remove();
        throw file_error(kAttempt, target_, fault_);
    }
    if (const std::string problem = replace(temporary_, target_); !problem.empty()) {
        fault_ = EACCES;
        remove();
        throw Error(Code::denied, std::string(kAttempt) + ' ' + quoted(target_) + ": " + problem);
    }
    temporary_.clear();
    file_.let_go();
    if (options_.durable) sync_folder(target_.parent_path());
}

void ReplacingFile::remove() noexcept {
    static_cast<void>(file_.close());
    if (temporary_.empty()) return;
    static_cast<void>(remove_file(temporary_));
    temporary_.clear();
    file_.let_go();
}

void write_text(const std::filesystem::path& target, std::string_view text, const ReplacingOptions& options) {
    ReplacingFile file(target, options);
    file.write(std::as_bytes(std::span(text)));
    file.commit();
}

}  // namespace backplane::base
