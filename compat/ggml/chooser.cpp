#include "chooser.hpp"

#include <algorithm>
#include <array>
#include <sstream>

#include "base/dynamic_library.hpp"
#include "base/environment.hpp"
#include "base/process.hpp"
#include "base/user_folder.hpp"
#include "discovery/inspect.hpp"
#include "platform/library.hpp"

namespace backplane::compat {

namespace {

namespace fs = std::filesystem;

constexpr int64_t kDay = 86400;

// The order in which ggml registers what it finds; devices are listed in it.
constexpr std::array kKinds{"blas",   "zendnn",  "cann",   "cuda",    "hip",  "metal",    "rpc", "sycl",
                            "vulkan", "virtgpu", "opencl", "hexagon", "musa", "openvino", "cpu"};

// "cpu" of "libggml-cpu-zen4.so"; empty: no name of a module.
std::string kind_of(const std::string& name, const std::string& prefix) {
    const std::string_view ending = base::library_ending();
    if (!name.starts_with(prefix) || !name.ends_with(ending) || name.size() <= prefix.size() + ending.size()) return {};
    const std::string stem = name.substr(prefix.size(), name.size() - prefix.size() - ending.size());
    std::string kind = stem.substr(0, stem.find('-'));
    return std::find(kKinds.begin(), kKinds.end(), kind) != kKinds.end() ? kind : std::string();
}

// What the child said, line by line: "step NAME", "score N", then "good" or "failed TEXT", then "end".
struct Record {
    explicit Record(const std::string& text) {
        std::istringstream lines(text);
        for (std::string line; std::getline(lines, line);) {
            if (line.starts_with("step ")) step = line.substr(5, 32);
            if (line.starts_with("score ")) score = std::atoi(line.c_str() + 6);
            if (line.starts_with("failed ")) failure = line.substr(7, 512);
            if (line == "good") good = true;
            if (line == "end") complete = true;
        }
    }
    std::string step = "start", failure;
    int score = 0;
    bool good = false, complete = false;
};

Known try_in_child(const fs::path& file, const Search& search) {
    const base::ChildOutcome child =
        base::run_child(search.probe, {search.base.string(), file.string()}, std::chrono::milliseconds(search.limit_ms));
    Known k;
    if (!child.started) {  // no processes here: as much as can be told without one
        k.score = 1;
        k.until = 1;
        return k;
    }
    const Record record(child.record);
    const std::string when = " during '" + record.step + "' when it was tried in a child process";
    k.score = record.score;
    if (child.timed_out) {
        k.reason = "it did not come back within " + std::to_string(search.limit_ms) + " ms" + when;
        k.until = kDay / 24;
    } else if (child.signal != 0) {
        k.reason = "it crashed with " + base::name_of_signal(child.signal) + when;
        k.until = 30 * kDay;
    } else if (record.complete && record.good) {
        return k;
    } else if (record.complete) {
        k.reason = record.failure;
        k.until = kDay / 24;  // a driver may come
    } else {
        k.reason = "it ended the process with exit code " + std::to_string(child.exit_code) + when;
        k.until = 30 * kDay;
    }
    return k;
}

// What its bytes and its owner say. Nothing runs.
std::string why_not_by_its_bytes(const fs::path& file) {
    const discovery::Inspection look = discovery::inspect(file);
    if (look.status.others_may_write) return "refused: anybody may write to it; " + base::how_to_protect(file);
    if (look.status.foreign_owner) return "refused: it belongs to " + look.status.owner;
    const discovery::Binary& host = discovery::host_binary();
    if (look.binary.format == discovery::Format::none) return look.text.empty() ? "it is no library" : look.text;
    if (look.problem == ReasonCode::truncated) return look.text;
    if (look.binary.machine != host.machine || look.binary.bits != host.bits)
        return "it is for " + discovery::name_of_machine(look.binary);
    return {};
}

Known judge(const fs::path& file, const Search& search, int& tried) {
    Known k;
    k.reason = why_not_by_its_bytes(file);
    if (k.reason.empty()) {
        k.score = 1;
        if (!search.probe.empty()) {
            ++tried;
            k = try_in_child(file, search);
        }
    }
    const base::FileStatus status = base::status_of(file);
    k.size = status.size;
    k.number = status.number;
    k.modified_ns = status.modified_ns;
    return k;
}

}  // namespace

Choice choose(const fs::path& folder, const Search& search) {
    Choice choice;
    std::map<std::string, Kind> kinds;
    Memory memory(search.state, folder, search.base);
    std::string problem;
    for (const fs::path& name : base::names_in(folder, problem)) {
        const std::string kind = kind_of(name.string(), search.prefix);
        if (kind.empty()) continue;
        const fs::path file = folder / name;
        const base::FileStatus status = base::status_of(file);
        if (status.kind != base::FileStatus::Kind::regular) continue;
        std::string why =
            status.others_may_write ? "refused: anybody may write to it; " + base::how_to_protect(file) : std::string();
        int score = 0;
        if (why.empty()) {
            const Known* known = memory.find(name.string(), status);
            Known fresh;
            if (known == nullptr) {
                fresh = judge(file, search, choice.tried);
                known = &fresh;
                memory.remember(name.string(), fresh);
            }
            why = known->reason;
            score = known->score;
        }
        if (!why.empty()) choice.refusals.push_back("cannot use " + file.string() + ": " + why);
        if (why.empty() && score > 0) kinds[kind].usable.push_back({file, score});
    }
    memory.save();
    for (const char* name : kKinds) {
        const auto found = kinds.find(name);
        if (found == kinds.end()) continue;
        std::stable_sort(found->second.usable.begin(), found->second.usable.end(),
                         [](const Usable& a, const Usable& b) { return a.score > b.score; });
        choice.kinds.push_back({name, std::move(found->second.usable)});
    }
    return choice;
}

std::string why_not(const fs::path& file, const Search& search) {
    const base::FileStatus status = base::status_of(file);
    if (status.kind != base::FileStatus::Kind::regular) return status.problem.empty() ? "it is no file" : status.problem;
    Memory memory(search.state, file.parent_path(), search.base);
    const std::string name = file.filename().string();
    if (const Known* known = memory.find(name, status))
        return known->score == 0 && known->reason.empty() ? "it is not for this processor" : known->reason;
    int tried = 0;
    const Known fresh = judge(file, search, tried);
    memory.remember(name, fresh);
    memory.save();
    return fresh.score == 0 && fresh.reason.empty() ? "it is not for this processor" : fresh.reason;
}

fs::path own_folder() { return ggml::file_of(reinterpret_cast<const void*>(&own_folder)).parent_path(); }

fs::path find_probe() {
    const std::string name = "backplane-ggml-probe" + std::string(base::program_ending());
    const fs::path folder = own_folder();
    for (const fs::path& place : {folder, folder / "backplane", folder.parent_path() / "libexec" / "backplane"}) {
        const base::FileStatus status = base::status_of(place / name);
        if (status.kind == base::FileStatus::Kind::regular && !status.others_may_write && !status.foreign_owner)
            return place / name;
    }
    return {};
}

fs::path state_folder() {
    if (const auto given = base::environment("BACKPLANE_STATE_DIR")) return fs::path(*given) / "ggml";
    const fs::path cache = base::user_cache_folder();
    return cache.empty() ? fs::path() : cache / "backplane" / "ggml";
}

}  // namespace backplane::compat
