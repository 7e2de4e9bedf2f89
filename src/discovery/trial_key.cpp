#include "discovery/trial_key.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <utility>
#include <vector>

#include "base/dynamic_library.hpp"
#include "base/environment.hpp"
#include "base/file.hpp"
#include "base/hash.hpp"

namespace backplane::discovery {

namespace {

namespace fs = std::filesystem;
using base::FileStatus;
using Kind = FileStatus::Kind;

// Beyond these a change may be missed; nobody's start becomes slow because somebody watches his whole disk.
constexpr size_t kMostFiles = 2048, kMostInFolder = 256, kMostLibraries = 96, kMostMeanings = 16;
constexpr uint64_t kMostManifest = 16384, kMostMadeUp = 4096;

// Not string(): on Windows that throws for names of other scripts.
std::string text_of(const fs::path& path) {
    const std::u8string text = path.u8string();
    return {text.begin(), text.end()};
}

std::vector<std::string> parts_of(std::string_view list, std::string_view separators) {
    std::vector<std::string> parts;
    while (!list.empty()) {
        const size_t end = std::min(list.find_first_of(separators), list.size());
        if (end != 0) parts.emplace_back(list.substr(0, end));
        list.remove_prefix(std::min(end + 1, list.size()));
    }
    return parts;
}

bool has_folder(std::string_view name) { return name.find_first_of("/\\") != std::string_view::npos; }

// "libx.so", "libx.so.1", "x.dll", "libx.dylib"
bool is_library_name(std::string_view name) {
    const size_t at = name.rfind(".so");
    return (at != std::string_view::npos && (at + 3 == name.size() || name[at + 3] == '.')) || name.ends_with(".dll") ||
           name.ends_with(".dylib");
}

bool is_manifest_name(std::string_view name) {
    return name.ends_with(".json") || name.ends_with(".icd") || name.ends_with(".conf");
}

bool is_variable_name(std::string_view name) {
    return name.size() > 2 && name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == std::string_view::npos;
}

std::string start_of(const fs::path& path, uint64_t most) {
    try {
        const base::File file(path);
        std::string text(most, '\0');
        text.resize(file.read_at(0, std::as_writable_bytes(std::span(text))));
        return text;
    } catch (const Error&) {
        return {};
    }
}

// Of `$NAME...`, what stands in its place; `item` loses it.
std::vector<std::string> take_variable(std::string_view& item) {
    item.remove_prefix(1);
    const bool braced = item.starts_with('{');
    if (braced) item.remove_prefix(1);
    const size_t end =
        std::min(item.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"), item.size());
    const std::string name(item.substr(0, end));
    item.remove_prefix(end);
    std::string fallback;
    if (braced) {
        const size_t close = std::min(item.find('}'), item.size());
        if (item.starts_with(":-")) fallback = item.substr(2, std::max<size_t>(close, 2) - 2);
        item.remove_prefix(std::min(close + 1, item.size()));
    }
    const std::optional<std::string> value = base::environment(name.c_str());
    if (value) return parts_of(*value, std::string(1, base::list_separator()));
    return parts_of(fallback, ":");  // written once for all systems
}

std::vector<std::string> meanings(std::string_view item) {
    const size_t at = item.find('$');
    if (at == std::string_view::npos) return {std::string(item)};
    const std::string before(item.substr(0, at));
    item.remove_prefix(at);
    std::vector<std::string> all;
    const std::vector<std::string> values = take_variable(item);
    const std::vector<std::string> after = meanings(item);
    for (const std::string& value : values)
        for (const std::string& rest : after)
            if (all.size() < kMostMeanings) all.push_back(before + value + rest);
    return all;
}

class KeyText {
public:
    void add(std::string_view part) { (text_ += '|') += part; }
    [[nodiscard]] std::string take() { return std::move(text_); }

    // What the file is. Files that the kernel makes up have no size, and times that mean nothing: they are their content.
    void identity(const FileStatus& s, const fs::path& path) {
        if (s.kind == Kind::regular && s.size == 0) return add("made up " + start_of(path, kMostMadeUp));
        std::string text;
        for (const uint64_t part : {static_cast<uint64_t>(s.kind), s.volume, s.number, uint64_t{s.mode}})
            text += std::to_string(part) + '/';
        text += s.owner + s.problem;
        if (s.kind != Kind::folder)  // what is in a folder counts, and not when something else came and went
            for (const auto part : {static_cast<int64_t>(s.size), s.modified_ns, s.changed_ns})
                text += '/' + std::to_string(part);
        add(text);
    }

    // `levels` of what is in it, if it is a folder; with `selected`, only libraries and manifests.
    void watch(const fs::path& path, int levels, bool selected = false) {
        if (files_ == 0) return;
        --files_;
        const FileStatus s = base::status_of(path);
        identity(s, path);
        const std::string name = text_of(path.filename());
        if (s.kind == Kind::regular && is_manifest_name(name) && s.size <= kMostManifest) manifest(path);
        if (s.kind == Kind::regular && is_library_name(name)) waiting_.push_back(path);
        if (s.kind != Kind::folder || levels == 0) return;
        std::string problem;
        for (const fs::path& entry : base::names_in(path, problem, kMostInFolder)) {
            const std::string text = text_of(entry);
            if (text == "." || text == ".." || (selected && !is_manifest_name(text) && !is_library_name(text))) continue;
            add(text);
            watch(path / entry, levels - 1, selected);
        }
        add(problem);
    }

    void variable(const std::string& name) {
        const std::string value = base::environment(name.c_str()).value_or("");
        add(value);
        for (const std::string& part : parts_of(value, std::string(1, base::list_separator()))) {
            if (has_folder(part))
                watch(base::path_of(part), 1, true);
            else if (is_library_name(part))
                library(part, {});
        }
    }

    void library(const std::string& name, std::span<const fs::path> run_paths) {
        if (!asked_.insert(name).second) return;
        add(name);
        for (fs::path& place : places_.of(name, run_paths)) waiting_.push_back(std::move(place));
    }

    // The libraries that were met, what they need, and so on. Which of several of a name the loader takes is its own affair: all count.
    void follow_libraries() {
        for (size_t count = 0; next_ < waiting_.size() && count < kMostLibraries; ++next_) {
            const fs::path path = waiting_[next_];
            const FileStatus s = base::status_of(path);
            if (!followed_.insert({s.volume, s.number}).second) continue;
            ++count;
            identity(s, path);
            if (s.kind != Kind::regular) continue;
            const Binary binary = binary_of(path);
            for (const std::string& name : binary.needed) library(name, binary.run_paths);
        }
    }

private:
    // JSON or lines of text: what stands between quotes or alone on a line.
    void manifest(const fs::path& path) {
        std::string text = start_of(path, kMostManifest);
        for (size_t at = 0; (at = text.find('\\', at)) != std::string::npos; ++at)
            text.erase(at, 1);  // "\/" and "\\" of JSON
        for (const std::string& word : parts_of(text, "\"\r\n")) {
            if (is_variable_name(word)) {
                if (const auto value = base::environment(word.c_str())) add(word + '=' + *value);
            } else if (is_library_name(word) && word.size() < 4096) {
                if (has_folder(word))
                    waiting_.push_back(path.parent_path() /
                                       base::path_of(word));  // an absolute one replaces what is before it
                else
                    library(word, {});
            }
        }
    }

    std::string text_;
    size_t files_ = kMostFiles;
    base::LibraryPlaces places_;
    std::set<std::string> asked_;
    std::set<std::pair<uint64_t, uint64_t>> followed_;
    std::vector<fs::path> waiting_;  // from next_ on; a deque of paths is one that LLVM's linker for Windows cannot link
    size_t next_ = 0;
};

}  // namespace

std::vector<fs::path> watched_files(std::string_view item) {
    std::vector<fs::path> files;
    for (std::string& text : meanings(item)) {
        if (text.starts_with("~/")) {
            const std::optional<std::string> home = base::environment("HOME");
            if (!home) continue;
            text = *home + text.substr(1);
        }
        if (const fs::path path = base::path_of(text); path.is_absolute()) files.push_back(path);
    }
    return files;
}

std::string trial_key(const Inspection& m, std::string_view options) {
    KeyText key;
    key.add("2");
    key.add(text_of(m.path));
    key.identity(m.status, m.path);
    key.add(m.binary.build_id);
    key.add(std::to_string(BP_ABI));
    key.add(options);
    for (const std::string& name : m.binary.needed) key.library(name, m.binary.run_paths);
    if (m.descriptor) {
        key.add(m.descriptor->json);
        for (const Need& need : m.descriptor->needs) key.library(need.soname, m.binary.run_paths);
        for (const std::string& item : m.descriptor->watch_files)
            for (const fs::path& file : watched_files(item)) key.watch(file, 2);
        for (const std::string& variable : m.descriptor->watch_env) key.variable(variable);
    }
    key.follow_libraries();
    return base::hexadecimal(base::hash_of(key.take()));
}

std::string trial_key_with(const std::string& key, const fs::path& program) {
    KeyText text;
    text.add(key);
    text.identity(base::status_of(program), program);
    return base::hexadecimal(base::hash_of(text.take()));
}

}  // namespace backplane::discovery
