#include "base/keyed_store.hpp"

#include <algorithm>
#include <charconv>
#include <exception>
#include <span>
#include <utility>

#include "base/file.hpp"
#include "base/hash.hpp"
#include "base/replacing_file.hpp"
#include "base/user_folder.hpp"
#include "base/wall_clock.hpp"

namespace backplane::base {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "backplane-store 1 ";  // of the frame; kind and format of the content follow
constexpr std::string_view kEnding = ".entry", kEarlierEnding = ".json", kMark = "store-", kTemporaryEnding = ".partial";
constexpr int64_t kDay = 86400;
constexpr int64_t kLongestLife = 400 * kDay;  // no entry with an end lives longer
constexpr int64_t kGrace = 30 * kDay;         // what has ended still tells how often something was tried
constexpr int64_t kUnused = 7 * kDay;         // the time of use is noted no finer
constexpr int64_t kNanoseconds = 1'000'000'000;

// One line a value, whatever is in it.
std::string escaped(std::string_view text) {
    std::string line;
    for (const char c : text) {
        if (c == '\\' || c == '\n' || c == '\t') line += '\\';
        line += c == '\n' ? 'n' : c == '\t' ? 't' : c;
    }
    return line;
}

std::string unescaped(std::string_view line) {
    std::string text;
    for (size_t i = 0; i < line.size(); ++i) {
        const bool escape = line[i] == '\\' && i + 1 < line.size();
        const char c = escape ? line[++i] : line[i];
        text += escape && c == 'n' ? '\n' : escape && c == 't' ? '\t' : c;
    }
    return text;
}

std::string_view next(std::string_view& text, char separator) {
    const size_t end = std::min(text.find(separator), text.size());
    const std::string_view part = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return part;
}

std::optional<int64_t> number_in(std::string_view text) {
    int64_t number = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
    return problem == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

std::string first_lines(const std::string& kind, int format, const fs::path& file) {
    return std::string(kMagic) + kind + ' ' + std::to_string(format) + "\nname " + file.stem().string() + '\n';
}

constexpr std::string_view kSum = "sum ";
constexpr size_t kSumLine = kSum.size() + 33;  // 32 digits and the end of the line

// Not string(): on Windows that throws for names of other scripts.
bool has_ending(const fs::path& name, std::string_view ending) { return name.extension() == fs::path(ending); }

// Its own file, or one that an earlier version of this library left.
bool is_entry_name(const fs::path& name) {
    const std::u8string stem = name.stem().u8string();
    const bool named =
        stem.size() >= 8 && stem.size() <= 32 && stem.find_first_not_of(u8"0123456789abcdef") == std::u8string::npos;
    return named && (has_ending(name, kEnding) || has_ending(name, kEarlierEnding));
}

bool is_temporary_name(const fs::path& name) {
    return has_ending(name, kTemporaryEnding) && name.u8string().starts_with(u8".store-");
}

std::vector<fs::path> own_names_in(const fs::path& folder) {
    std::string problem;
    std::vector<fs::path> names = folder.empty() ? std::vector<fs::path>() : names_in(folder, problem);
    std::erase_if(names, [](const fs::path& name) { return !is_entry_name(name) && !is_temporary_name(name); });
    return names;
}

}  // namespace

KeyedStore::KeyedStore(fs::path folder, std::string kind, int format, StoreLimits limits)
    : folder_(std::move(folder)), kind_(std::move(kind)), format_(format), limits_(limits) {}

fs::path KeyedStore::path_of(std::string_view key) const {
    return folder_ / (hexadecimal(hash_of(key)) + std::string(kEnding));
}

std::optional<StoredEntry> KeyedStore::read(const fs::path& file) const {
    const std::optional<std::string> content = read_own_file(file, limits_.bytes);
    if (!content || content->size() < kSumLine) return std::nullopt;
    std::string_view text(*content);
    const std::string_view sum = text.substr(text.size() - kSumLine);
    text.remove_suffix(kSumLine);
    const std::string first = first_lines(kind_, format_, file);
    if (!text.starts_with(first) || sum != std::string(kSum) + hexadecimal(hash_of(text)) + '\n') return std::nullopt;
    text.remove_prefix(first.size());
    StoredEntry entry;
    entry.when = number_in(next(text, '\n')).value_or(-1);
    entry.until = number_in(next(text, '\n')).value_or(-1);
    entry.about = unescaped(next(text, '\n'));
    while (!text.empty()) {
        std::string_view value = next(text, '\n');
        const std::string name = unescaped(next(value, '\t'));
        entry.fields[name] = unescaped(value);
    }
    const int64_t now = unix_seconds();
    // A clock that was set back must not keep an entry for ever.
    if (entry.when < 0 || entry.when > now + kDay || entry.until < 0 || entry.until > entry.when + kLongestLife)
        return std::nullopt;
    entry.expired = entry.until != 0 && entry.until < now;
    return entry;
}

std::optional<StoredEntry> KeyedStore::find(std::string_view key) const {
    if (folder_.empty()) return std::nullopt;
    const fs::path file = path_of(key);
    std::optional<StoredEntry> entry = read(file);
    // Only so often: in use is what was looked for within a week.
    if (entry && unix_seconds() - entry->when > kUnused &&
        unix_seconds() - status_of(file).modified_ns / kNanoseconds > kUnused)
        set_modified_now(file);
    return entry;
}

fs::path KeyedStore::unusable(std::string_view key) const {
    if (folder_.empty()) return {};
    fs::path file = path_of(key);
    if (read(file) || status_of(file).kind == FileStatus::Kind::missing) return {};
    return file;
}

std::string KeyedStore::remember(std::string_view key, StoredEntry entry) const {
    if (folder_.empty()) return "there is no folder to remember it in";
    const fs::path file = path_of(key);
    entry.when = unix_seconds();
    if (entry.until != 0) entry.until = std::min(entry.until, entry.when + kLongestLife);
    std::string text = first_lines(kind_, format_, file) + std::to_string(entry.when) + '\n' + std::to_string(entry.until) +
                       '\n' + escaped(entry.about) + '\n';
    for (const auto& [name, value] : entry.fields) text += escaped(name) + '\t' + escaped(value) + '\n';
    text += std::string(kSum) + hexadecimal(hash_of(text)) + '\n';
    if (text.size() > limits_.bytes) return "it is larger than " + std::to_string(limits_.bytes) + " bytes";
    if (std::string problem = make_own_folder(folder_); !problem.empty()) return problem;
    try {
        ReplacingFile whole(file, {.only_mine = true, .mark = kMark});
        whole.write(std::as_bytes(std::span(text)));
        whole.commit();
    } catch (const std::exception& error) {
        return error.what();
    }
    sweep(file.filename());
    return {};
}

bool KeyedStore::forget(std::string_view key) const { return !folder_.empty() && remove_file(path_of(key)); }

std::vector<StoredEntry> KeyedStore::all() const {
    std::vector<StoredEntry> found;
    for (const fs::path& name : own_names_in(folder_))
        if (auto entry = read(folder_ / name)) found.push_back(std::move(*entry));
    return found;
}

bool KeyedStore::empty() const {
    return std::ranges::none_of(own_names_in(folder_),
                                [&](const fs::path& name) { return read(folder_ / name).has_value(); });
}

size_t KeyedStore::forget_if(const std::function<bool(const StoredEntry&)>& which) const {
    size_t count = 0;
    for (const fs::path& name : own_names_in(folder_)) {
        const std::optional<StoredEntry> entry = read(folder_ / name);
        if (entry && which(*entry) && remove_file(folder_ / name)) ++count;
    }
    return count;
}

size_t KeyedStore::forget_all() const {
    size_t count = 0;
    for (const fs::path& name : own_names_in(folder_))
        if (remove_file(folder_ / name) && is_entry_name(name)) ++count;
    return count;
}

// What ended long ago, what nobody can read any more, what a killed process left, and what is too many. Files of a format that this
// version does not know may be in use by another: they stay for a while.
void KeyedStore::sweep(const fs::path& keep) const {
    struct Kept {
        int64_t used;
        fs::path name;
    };
    std::vector<Kept> kept;
    const int64_t now = unix_seconds();
    for (const fs::path& name : own_names_in(folder_)) {
        if (name == keep) continue;
        const int64_t used = status_of(folder_ / name).modified_ns / kNanoseconds;
        if (now - used > (is_temporary_name(name) ? kDay : kGrace)) {
            const std::optional<StoredEntry> entry = read(folder_ / name);
            if (!entry || (entry->expired && now - entry->until > kGrace)) {
                static_cast<void>(remove_file(folder_ / name));
                continue;
            }
        }
        if (is_entry_name(name)) kept.push_back({used, name});
    }
    if (kept.size() + 1 <= limits_.entries) return;
    const size_t over = kept.size() + 1 - limits_.entries;
    std::partial_sort(kept.begin(), kept.begin() + static_cast<std::ptrdiff_t>(over), kept.end(),
                      [](const Kept& a, const Kept& b) { return a.used < b.used; });
    for (size_t i = 0; i < over; ++i) static_cast<void>(remove_file(folder_ / kept[i].name));
}

}  // namespace backplane::base
