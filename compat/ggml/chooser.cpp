#include "chooser.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <sstream>

#include "base/cpu_features.hpp"
#include "base/dynamic_library.hpp"
#include "base/environment.hpp"
#include "base/process.hpp"
#include "base/user_folder.hpp"
#include "discovery/inspect.hpp"
#include "platform/library.hpp"
#include "sidecar.hpp"

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
        k.until = kDay / 24;
        k.drivers = drivers_now();  // one may come
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

// What a sidecar tells of a file, without opening it. Empty: there is none that counts, and the file is to be tried. `note`: why not.
std::optional<Known> known_by_sidecar(const fs::path& file, const Search& search, std::string& note, std::string& aside) {
    const std::optional<ggml::Sidecar> sidecar = ggml::read_sidecar(file, note);
    if (!sidecar) return std::nullopt;
    const std::string name = file.filename().string();
    if (const std::string why = ggml::why_stale_by_size(*sidecar, file, search.base); !why.empty()) {
        note = "the sidecar of " + name + " is not believed: " + why + "; `backplane modules index` writes it anew";
        return std::nullopt;
    }
    if (sidecar->processor == ggml::processor_text()) {
        if (sidecar->probe_in_child && sidecar->score > 0) return std::nullopt;  // its driver may be another one by now
        Known k;
        k.score = sidecar->score;
        return k;
    }
    // Another processor's score says nothing here, but what the module uses is what it uses.
    static const base::CpuFeatures kHere = base::detect_cpu_features();
    for (const std::string& feature : sidecar->cpu)
        if (!kHere.contains(feature)) {
            aside =
                "not used: " + file.string() + ": its sidecar says that it uses " + feature + ", which is not usable here";
            return Known{};
        }
    return std::nullopt;
}

class Chooser {
public:
    Chooser(const fs::path& folder, const Search& search)
        : folder_(folder), search_(search), memory_(search.state, folder, search.base) {}

    Choice choose() {
        std::string problem;
        for (const fs::path& name : base::names_in(folder_, problem)) {
            const std::string kind = kind_of(name.string(), search_.prefix);
            if (!kind.empty()) look_at(name.string(), kind);
        }
        for (const char* name : kKinds) {
            const auto found = kinds_.find(name);
            if (found == kinds_.end()) continue;
            check_winner(found->second);
            if (!found->second.usable.empty())
                choice_.kinds.push_back({name, found->second.usable});
            else if (const auto aside = asides_.find(name); aside != asides_.end())
                choice_.refusals.push_back(aside->second);
        }
        memory_.save();
        return std::move(choice_);
    }

private:
    void look_at(const std::string& name, const std::string& kind) {
        const fs::path file = folder_ / name;
        const base::FileStatus status = base::status_of(file);
        if (status.kind != base::FileStatus::Kind::regular) return;
        if (status.others_may_write) return refuse(file, "refused: anybody may write to it; " + base::how_to_protect(file));
        Kind& all = kinds_[kind];
        if (const Known* known = memory_.find(name, status)) return take(all, file, *known, false);
        std::string note;
        std::string aside;
        if (const std::optional<Known> known = known_by_sidecar(file, search_, note, aside)) {
            if (!aside.empty()) asides_[kind] = aside;
            return take(all, file, *known, true);
        }
        if (!note.empty()) choice_.refusals.push_back(note);
        try_it(all, file);
    }

    void try_it(Kind& kind, const fs::path& file) {
        const Known fresh = judge(file, search_, choice_.tried);
        memory_.remember(file.filename().string(), fresh);
        take(kind, file, fresh, false);
    }

    void take(Kind& kind, const fs::path& file, const Known& known, bool by_sidecar) {
        if (!known.reason.empty()) return refuse(file, known.reason);
        if (known.score > 0) kind.usable.push_back({file, known.score, by_sidecar, !by_sidecar});
    }

    void refuse(const fs::path& file, const std::string& why) {
        choice_.refusals.push_back("cannot use " + file.string() + ": " + why);
    }

    // Sorts. A sidecar makes a winner only of the very build that it was written for; that takes opening the file, and so waits till now.
    void check_winner(Kind& kind) {
        for (;;) {
            std::stable_sort(kind.usable.begin(), kind.usable.end(),
                             [](const Usable& a, const Usable& b) { return a.score > b.score; });
            if (kind.usable.empty() || kind.usable.front().build_checked) return;
            Usable& best = kind.usable.front();
            best.build_checked = true;
            const fs::path file = best.path;
            std::string note;
            const std::optional<ggml::Sidecar> sidecar = ggml::read_sidecar(file, note);
            const std::string why = sidecar ? ggml::why_stale(*sidecar, file, search_.base) : "it changed just now";
            if (why.empty()) return;
            choice_.refusals.push_back("the sidecar of " + file.filename().string() + " is not believed: " + why +
                                       "; `backplane modules index` writes it anew");
            kind.usable.erase(kind.usable.begin());
            try_it(kind, file);
        }
    }

    const fs::path& folder_;
    const Search& search_;
    Memory memory_;
    std::map<std::string, Kind> kinds_;
    std::map<std::string, std::string> asides_;  // why one was left out without a word, in case nothing is left
    Choice choice_;
};

}  // namespace

Choice choose(const fs::path& folder, const Search& search) { return Chooser(folder, search).choose(); }

std::string why_not(const fs::path& file, const Search& search) {
    const base::FileStatus status = base::status_of(file);
    if (status.kind != base::FileStatus::Kind::regular) return status.problem.empty() ? "it is no file" : status.problem;
    Memory memory(search.state, file.parent_path(), search.base);
    const std::string name = file.filename().string();
    if (const Known* known = memory.find(name, status))
        return known->score == 0 && known->reason.empty() ? "it is not for this processor" : known->reason;
    std::string note;
    const std::optional<ggml::Sidecar> sidecar = ggml::read_sidecar(file, note);
    if (sidecar && !sidecar->probe_in_child && sidecar->processor == ggml::processor_text() &&
        ggml::why_stale(*sidecar, file, search.base).empty())
        return sidecar->score == 0 ? "it is not for this processor" : std::string();
    int tried = 0;
    const Known fresh = judge(file, search, tried);
    memory.remember(name, fresh);
    memory.save();
    return fresh.score == 0 && fresh.reason.empty() ? "it is not for this processor" : fresh.reason;
}

fs::path own_folder() { return ggml::file_of(reinterpret_cast<const void*>(&own_folder)).parent_path(); }

fs::path find_probe() {
    const std::string name = "backplane-probe-ggml" + std::string(base::program_ending());
    const fs::path folder = own_folder();
    const fs::path above = folder.parent_path();
    for (const fs::path& place :
         {folder, folder / "backplane", above, above / "backplane", above / "libexec" / "backplane"}) {
        const base::FileStatus status = base::status_of(place / name);
        if (status.kind == base::FileStatus::Kind::regular && status.trusted()) return place / name;
    }
    return {};
}

fs::path state_folder() {
    if (const auto given = base::environment("BACKPLANE_STATE_DIR")) return fs::path(*given) / "ggml";
    const fs::path cache = base::user_cache_folder();
    return cache.empty() ? fs::path() : cache / "backplane" / "ggml";
}

}  // namespace backplane::compat
