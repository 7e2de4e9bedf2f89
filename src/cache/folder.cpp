#include "cache/folder.hpp"

#include <algorithm>
#include <chrono>
#include <tuple>

#include "backplane/error.hpp"

namespace backplane::cache {

namespace {

namespace fs = std::filesystem;

constexpr int64_t kSecond = 1'000'000'000;
// Writing an entry takes well under a second; one that takes longer than this finds its temporary file gone and has written in vain.
constexpr int64_t kLongestWrite = 600 * kSecond;
constexpr int64_t kDay = 86400 * kSecond;
constexpr size_t kMostNames = 1'000'000;

bool is_hex(std::string_view text, size_t digits) {
    return text.size() == digits &&
           std::all_of(text.begin(), text.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

// 0: not ours, 1: an entry, 2: a temporary file.
int kind_of(std::string_view name) {
    constexpr std::string_view kEnd = ".kernel", kPart = ".partial", kAside = ".kernel.replaced-";
    constexpr size_t kDigits = 32;
    // Windows puts a file that is open aside when it is replaced (base::replace).
    if (name.size() > kDigits && name.substr(kDigits).starts_with(kAside))
        return is_hex(name.substr(0, kDigits), kDigits) ? 2 : 0;
    if (name.ends_with(kEnd)) return is_hex(name.substr(0, name.size() - kEnd.size()), kDigits) ? 1 : 0;
    if (!name.ends_with(kPart) || name[0] != '.') return 0;
    name = name.substr(1, name.size() - 1 - kPart.size());
    return name.starts_with(kTemporaryMark) && is_hex(name.substr(kTemporaryMark.size()), 16) ? 2 : 0;
}

ReadEntry answer(ReadEntry::Outcome outcome, std::string why) {
    ReadEntry read;
    read.outcome = outcome;
    read.why = std::move(why);
    return read;
}

}  // namespace

int64_t now_ns() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

ReadEntry read_entry(const fs::path& path, uint64_t most) {
    using Outcome = ReadEntry::Outcome;
    std::error_code failed;
    const fs::file_type type = fs::symlink_status(path, failed).type();
    if (type == fs::file_type::not_found) return {};
    if (type == fs::file_type::symlink) return answer(Outcome::bad, "a link");
    if (type == fs::file_type::directory) return answer(Outcome::bad, "a folder");
    try {
        const base::File file(path);
        const base::FileStatus& status = file.status();
        if (status.foreign_owner) return answer(Outcome::bad, "it belongs to " + status.owner);
        if (status.others_may_write) return answer(Outcome::bad, "others may write to it");
        if (status.size > most) return answer(Outcome::bad, std::to_string(status.size) + " bytes are more than the limit");
        ReadEntry read;
        read.file.resize(static_cast<size_t>(status.size));
        read.file.resize(file.read_at(0, read.file));  // fewer: it was cut since, or the disk fails
        const std::optional<Entry> entry = parse(read.file, read.why);
        read.outcome = entry ? Outcome::good : Outcome::bad;
        if (entry) read.entry = *entry;
        read.modified_ns = status.modified_ns;
        return read;
    } catch (const Error& error) {
        if (error.code() == Code::not_found) return {};
        return answer(error.code() == Code::denied ? Outcome::unreadable : Outcome::bad, error.what());
    }
}

std::vector<FoundFile> files_in(const fs::path& folder, std::string& problem) {
    std::vector<FoundFile> files;
    if (base::status_of(folder).kind == base::FileStatus::Kind::missing) return files;
    for (const fs::path& name : base::names_in(folder, problem, kMostNames)) {
        FoundFile file{name.string(), 0, 0, false};
        const int kind = kind_of(file.name);
        if (kind == 0) continue;
        const base::FileStatus status = base::status_of(folder / name);
        file.temporary = kind == 2;
        if (status.kind == base::FileStatus::Kind::regular) file.bytes = status.size;
        file.used_ns = status.modified_ns;
        files.push_back(std::move(file));
    }
    return files;
}

Trimmed trim(const fs::path& folder, uint64_t limit) {
    Trimmed result;
    std::string problem;
    std::vector<FoundFile> files = files_in(folder, problem);
    const int64_t now = now_ns();
    std::erase_if(files, [&](const FoundFile& file) {
        if (!file.temporary || std::abs(now - file.used_ns) < kLongestWrite) return false;
        const bool removed = base::remove_file(folder / file.name);
        result.temporaries_removed += removed ? 1 : 0;
        return removed;
    });
    for (FoundFile& file : files) {
        result.bytes += file.bytes;
        if (file.used_ns > now + kDay) file.used_ns = 0;  // a clock that was set back must not keep an entry for ever
    }
    if (result.bytes <= limit) return result;
    std::sort(files.begin(), files.end(), [](const FoundFile& a, const FoundFile& b) {
        return std::tie(a.used_ns, a.name) < std::tie(b.used_ns, b.name);
    });
    for (const FoundFile& file : files) {
        if (result.bytes <= limit - limit / 8) break;
        if (file.temporary || !base::remove_file(folder / file.name)) continue;
        result.bytes -= file.bytes;
        ++result.entries_removed;
    }
    return result;
}

std::string problem_of(const fs::path& folder, const std::string& name, uint64_t most) {
    const ReadEntry read = read_entry(folder / name, most);
    if (read.outcome == ReadEntry::Outcome::missing) return {};  // replaced or evicted meanwhile
    if (read.outcome != ReadEntry::Outcome::good) return read.why;
    return file_name(read.entry.scope, read.entry.key) == name ? std::string() : "of another key";
}

std::string scope_of(const fs::path& folder, const std::string& name) {
    try {
        const base::File file(folder / name);
        std::array<std::byte, kHeaderBytes + 512> start{};
        return scope_in(std::span(start).first(file.read_at(0, start)));
    } catch (const Error&) {
        return {};
    }
}

size_t clear(const fs::path& folder) {
    size_t removed = 0;
    std::string problem;
    for (const FoundFile& file : files_in(folder, problem)) removed += base::remove_file(folder / file.name) ? 1 : 0;
    std::error_code not_empty;
    fs::remove(folder, not_empty);
    return removed;
}

}  // namespace backplane::cache
