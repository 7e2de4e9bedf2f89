#include "chooser.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>

#include "base/cpu_features.hpp"
#include "base/dynamic_library.hpp"
#include "base/file.hpp"
#include "sidecar.hpp"
#include "trial.hpp"

namespace backplane::compat {

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

// The order in which ggml registers what it finds; devices are listed in it.
constexpr std::array<std::string_view, 15> kKinds{"blas",   "zendnn",  "cann", "cuda",     "hip",
                                                  "metal",  "rpc",     "sycl", "vulkan",   "virtgpu",
                                                  "opencl", "hexagon", "musa", "openvino", "cpu"};

struct Name {
    std::string kind;      // "cpu" of "libggml-cpu-zen4.so"; empty: no name of a module
    bool variant = false;  // one of several of its kind: it needs a score, and goes before the one without a variant's name
};

Name name_of(const std::string& file, const std::string& prefix) {
    const std::string_view ending = base::library_ending();
    if (!file.starts_with(prefix) || !file.ends_with(ending) || file.size() <= prefix.size() + ending.size()) return {};
    const std::string_view stem = std::string_view(file).substr(prefix.size(), file.size() - prefix.size() - ending.size());
    const size_t end = std::min(stem.find('-'), stem.size());
    const std::string_view kind = stem.substr(0, end);
    if (std::find(kKinds.begin(), kKinds.end(), kind) == kKinds.end()) return {};
    return {std::string(kind), end < stem.size()};
}

std::string name_in(const std::string& path) { return path.substr(path.rfind('/') + 1); }

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
    Chooser(std::span<const fs::path> folders, const Search& search) : search_(search), end_(Clock::now() + search.budget) {
        for (const fs::path& folder : folders) {
            memories_.emplace_back(search_, folder);
            folder_ = memories_.size() - 1;
            std::string problem;
            const std::string start = (folder / "").string();
            const ggml::Folder files(folder);
            for (const fs::path& name : base::names_in(folder, problem)) look_at(start, files, name.native());
        }
    }

    Choice choose() {
        for (const std::string_view kind_name : kKinds) {
            const std::string name(kind_name);
            Candidates& found = found_[name];
            Kind kind{name, best_first(found.variants)};
            // One that nobody has asked yet may turn out to be of no use.
            const bool sure = std::any_of(kind.usable.begin(), kind.usable.end(),
                                          [](const Usable& u) { return u.source != Source::nobody; });
            if (!sure)
                for (Usable& plain : best_first(found.plain)) kind.usable.push_back(std::move(plain));
            if (!kind.usable.empty())
                choice_.kinds.push_back(std::move(kind));
            else if (const auto aside = asides_.find(name); aside != asides_.end())
                inform(aside->second);
        }
        save();
        return std::move(choice_);
    }

private:
    struct Found {
        Usable usable;
        bool proven;
    };
    struct Candidates {
        std::vector<Found> variants, plain;
    };

    void warn(std::string text) { choice_.messages.push_back({true, std::move(text)}); }
    void inform(std::string text) { choice_.messages.push_back({false, std::move(text)}); }
    void refuse(const std::string& file, const std::string& why, bool absent = false) {
        choice_.messages.push_back({!absent, "cannot use " + file + ": " + why});
    }

    // `start`: the folder, with its separator.
    void look_at(const std::string& start, const ggml::Folder& files, const std::string& file_name) {
        const Name name = name_of(file_name, search_.prefix);
        if (name.kind.empty()) return;
        const std::string file = start + file_name;
        const ggml::FileFacts facts = files.facts_of(file_name.c_str());
        if (facts.size == 0 || !seen_.insert({facts.volume, facts.number}).second) return;
        // Whose it is and who may write to it is asked each time: that changes without the file.
        if (const std::string why = ggml::why_not_trusted(file, facts); !why.empty()) return refuse(file, "refused: " + why);
        if (const Known* known = memory().find(file_name, facts)) {
            return take(name, file, *known, Source::trial, false, known->reason.empty() ? "" : memory().where(*known));
        }
        std::string note;
        std::string aside;
        if (const std::optional<Known> known = known_by_sidecar(file, search_, note, aside)) {
            if (!aside.empty()) asides_[name.kind] = aside;
            return take(name, file, *known, Source::sidecar, false);
        }
        if (!note.empty()) warn(note);
        try_it(name, file_name, file, facts);
    }

    Memory& memory() { return memories_[folder_]; }

    void try_it(const Name& name, const std::string& file_name, const std::string& file, const ggml::FileFacts& facts) {
        Known k;
        k.reason = why_not_by_its_bytes(file);
        if (k.reason.empty() && untried_.empty()) untried_ = why_nothing_is_tried(search_);
        if (k.reason.empty() && !untried_.empty()) return take_untried(name, file);
        if (k.reason.empty()) {
            Tried tried =
                try_in_child(file, search_, std::chrono::duration_cast<std::chrono::milliseconds>(end_ - Clock::now()));
            if (!tried.untried.empty()) {
                untried_ = std::move(tried.untried);  // nor any other
                return take_untried(name, file);
            }
            if (!tried.for_now.empty()) return refuse(file, tried.for_now);
            k = std::move(tried.known);
            ++tried_;
        }
        k.is_of(facts);
        memory().remember(file_name, k);
        take(name, file, k, Source::trial, true);
    }

    // `now`: it was found out just now.
    void take(const Name& name, const std::string& file, const Known& known, Source source, bool now,
              const std::string& remembered = {}) {
        if (known.fits < 0) misfits_[folder_] = name_in(file);
        if (!known.reason.empty()) return refuse(file, known.reason + remembered, known.absent);
        if (name.variant && !known.scored) {
            asides_[name.kind] = "not used: " + file + ": a variant needs a score, and it has no ggml_backend_score";
            return;
        }
        if (known.score > 0)
            add(name, {{file, known.score, source, now, known.devices, name.variant, folder_}, known.fits > 0});
    }

    void take_untried(const Name& name, const std::string& file) {
        if (!said_untried_) warn("modules are loaded untried, by the score each gives itself: " + untried_);
        said_untried_ = true;
        add(name, {{file, 0, Source::nobody, true, true, name.variant, folder_}, false});
    }

    void add(const Name& name, Found found) {
        Candidates& all = found_[name.kind];
        (name.variant ? all.variants : all.plain).push_back(std::move(found));
    }

    // Where a module of a folder was built for another libggml-base, one that shows nothing of itself may well be of the same build; unless
    // another beside it showed that it fits.
    void drop_companions_of_misfits(std::vector<Found>& all) {
        std::erase_if(all, [&](const Found& f) {
            const auto misfit = misfits_.find(f.usable.folder);
            if (misfit == misfits_.end() || f.proven || f.usable.source != Source::trial || proven_in(f.usable.folder))
                return false;
            refuse(f.usable.path,
                   "it stands beside " + misfit->second +
                       ", which was not built for this libggml-base, and shows nothing that tells the two builds apart");
            return true;
        });
    }

    [[nodiscard]] bool proven_in(size_t folder) const {
        for (const auto& [kind, candidates] : found_)
            for (const std::vector<Found>* all : {&candidates.variants, &candidates.plain})
                for (const Found& f : *all)
                    if (f.usable.folder == folder && f.proven) return true;
        return false;
    }

    std::vector<Usable> best_first(std::vector<Found>& all) {
        drop_companions_of_misfits(all);
        Kind kind;
        for (const Found& f : all) kind.usable.push_back(f.usable);
        check_winner(kind);
        // Having devices goes before any score: a processor's module without one is no use, one that gets them later (RPC) has no rival.
        std::stable_partition(kind.usable.begin(), kind.usable.end(), [](const Usable& u) { return u.devices; });
        if (!kind.usable.empty() && kind.usable.front().devices)
            std::erase_if(kind.usable, [&](const Usable& u) {
                if (!u.devices) refuse(u.path, "it has 0 devices, and others of its kind have some", true);
                return !u.devices;
            });
        return std::move(kind.usable);
    }

    // Sorts. What a sidecar says makes a winner only of the very build that it was written for, and what is remembered only of one around which
    // nothing changed: that takes opening files, and so waits till now.
    void check_winner(Kind& kind) {
        for (;;) {
            std::stable_sort(kind.usable.begin(), kind.usable.end(),
                             [](const Usable& a, const Usable& b) { return a.score > b.score; });
            if (kind.usable.empty() || kind.usable.front().checked) return;
            Usable& best = kind.usable.front();
            best.checked = true;
            if (best.source == Source::sidecar ? sidecar_holds(best) : memory_holds(best)) return;
            const Usable again = best;
            kind.usable.erase(kind.usable.begin());
            try_instead(kind, again);
        }
    }

    bool memory_holds(const Usable& module) {
        const Known* known = memories_[module.folder].find(name_in(module.path), ggml::facts_of(module.path.c_str()));
        return known != nullptr && Memory::holds(*known, module.path);
    }

    bool sidecar_holds(const Usable& module) {
        std::string note;
        const std::optional<ggml::Sidecar> sidecar = ggml::read_sidecar(module.path, note);
        const std::string why = sidecar ? ggml::why_stale(*sidecar, module.path, search_.base) : "it changed just now";
        if (!why.empty())
            warn("the sidecar of " + name_in(module.path) + " is not believed: " + why +
                 "; `backplane modules index` writes it anew");
        return why.empty();
    }

    void try_instead(Kind& kind, const Usable& module) {
        folder_ = module.folder;
        const Name alone{"again", module.variant};
        found_[alone.kind] = {};
        try_it(alone, name_in(module.path), module.path, ggml::facts_of(module.path.c_str()));
        for (const std::vector<Found>* all : {&found_[alone.kind].variants, &found_[alone.kind].plain})
            for (const Found& f : *all) kind.usable.push_back(f.usable);
        found_.erase(alone.kind);
    }

    void save() {
        std::string problem = search_.no_state;
        for (Memory& memory : memories_)
            if (std::string failed = memory.save(); !failed.empty()) problem = std::move(failed);
        if (tried_ > 0 && !problem.empty())
            inform(
                "nothing can be remembered (" + problem + "): each start tries " + std::to_string(tried_) +
                " modules in child processes; `backplane modules index FOLDER`, once, or BACKPLANE_STATE_DIR spares that");
    }

    const Search& search_;
    Clock::time_point end_;
    std::vector<Memory> memories_;  // of each folder
    size_t folder_ = 0;             // the one that is looked at
    std::map<std::string, Candidates> found_;
    std::map<std::string, std::string> asides_;  // why one was left out without a word, in case nothing is left
    std::map<size_t, std::string> misfits_;      // of each folder: a module that showed that it is of another build
    std::set<std::pair<uint64_t, uint64_t>> seen_;
    std::string untried_;
    bool said_untried_ = false;
    int tried_ = 0;
    Choice choice_;
};

std::string not_for_here(const Known& known) {
    return known.score == 0 && known.reason.empty() ? "it is not for this processor" : known.reason;
}

}  // namespace

Choice choose(std::span<const fs::path> folders, const Search& search) { return Chooser(folders, search).choose(); }

std::string why_not(const fs::path& file, const Search& search, Source& source) {
    const ggml::FileFacts facts = ggml::facts_of(file);
    if (facts.size == 0) return "there is no such file, or nothing in it";
    if (const std::string why = ggml::why_not_trusted(file, facts); !why.empty()) return "refused: " + why;
    Memory memory(search, file.parent_path());
    source = Source::trial;
    if (const Known* known = memory.find(file.filename().string(), facts); known != nullptr && Memory::holds(*known, file))
        return known->reason.empty() ? not_for_here(*known) : known->reason + memory.where(*known);
    std::string note;
    const std::optional<ggml::Sidecar> sidecar = ggml::read_sidecar(file, note);
    source = Source::sidecar;
    if (sidecar && !sidecar->probe_in_child && sidecar->processor == ggml::processor_text() &&
        ggml::why_stale(*sidecar, file, search.base).empty())
        return sidecar->score == 0 ? "it is not for this processor" : std::string();
    if (std::string why = why_not_by_its_bytes(file); !why.empty()) return why;
    source = Source::nobody;
    if (!why_nothing_is_tried(search).empty()) return {};
    Tried tried = try_in_child(file, search, search.budget);
    if (!tried.untried.empty()) return {};
    if (!tried.for_now.empty()) return tried.for_now;
    source = Source::trial;
    tried.known.is_of(facts);
    memory.remember(file.filename().string(), tried.known);
    static_cast<void>(memory.save());
    return not_for_here(tried.known);
}

}  // namespace backplane::compat
