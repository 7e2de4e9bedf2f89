// Where things are: this library, its probe, what is remembered.
#include <algorithm>
#include <cstdlib>

#include "base/dynamic_library.hpp"
#include "base/environment.hpp"
#include "base/file.hpp"
#include "base/user_folder.hpp"
#include "chooser.hpp"
#include "platform/child.hpp"
#include "platform/library.hpp"

namespace backplane::compat {

namespace {

namespace fs = std::filesystem;

constexpr int kMostSeconds = 3600;

const void* here() { return reinterpret_cast<const void*>(&here); }

fs::path probe_near(const fs::path& library) {
    const fs::path folder = library.parent_path();
    if (folder.empty()) return {};
    const std::string name = "backplane-probe-ggml" + std::string(base::program_ending());
    const std::string beside = (folder / "").string();
    const std::string above = (folder.parent_path() / "").string();
    for (const std::string& place :
         {beside, beside + "backplane/", above, above + "backplane/", above + "libexec/backplane/"}) {
        const std::string file = place + name;
        const ggml::FileFacts facts = ggml::facts_of(file.c_str());
        if (facts.size != 0 && ggml::why_not_trusted(file, facts).empty()) return file;
    }
    return {};
}

// In the folders of own_folders(); links are followed only where that is needed.
fs::path find_probe() {
    fs::path probe = probe_near(ggml::name_of(here()));
    return probe.empty() ? probe_near(ggml::file_of(here())) : probe;
}

// The folder that is there already, of those above `folder`.
fs::path nearest(fs::path folder) {
    std::error_code error;
    while (!folder.empty() && folder != folder.parent_path() && !fs::exists(folder, error)) folder = folder.parent_path();
    return folder;
}

void choose_state(Search& search) {
    if (const auto given = base::environment("BACKPLANE_STATE_DIR")) {
        search.state = fs::path(*given) / base::kFolderRecords;
        return;
    }
    const fs::path cache = base::user_cache_folder();
    if (cache.empty()) {
        search.no_state = "there is no cache folder, or it is another user's";
    } else if (const fs::path there = nearest(cache / "backplane" / base::kFolderRecords); !ggml::is_own(there)) {
        // With sudo and another user's HOME: what is made here would shut that user out.
        search.no_state = there.string() + " belongs to somebody else";
    } else {
        search.state = cache / "backplane" / base::kFolderRecords;
    }
}

}  // namespace

std::vector<fs::path> own_folders() {
    std::vector<fs::path> folders{ggml::name_of(here()).parent_path(), ggml::file_of(here()).parent_path()};
    folders.erase(std::unique(folders.begin(), folders.end()), folders.end());
    std::erase(folders, fs::path());
    return folders;
}

Search search_with(const fs::path& base, std::string prefix) {
    Search search;
    search.base = base;
    search.prefix = std::move(prefix);
    search.probe = find_probe();
    if (const auto limit = base::environment("BACKPLANE_PROBE_LIMIT"))
        if (const int seconds = std::atoi(limit->c_str()); seconds > 0) {
            search.limit = std::chrono::seconds(std::min(seconds, kMostSeconds));
            search.budget = std::max(search.budget, 3 * search.limit);
        }
    choose_state(search);
    return search;
}

std::string why_nothing_is_tried(const Search& search) {
    if (base::environment("BACKPLANE_PROBE").value_or("") == "never") return "BACKPLANE_PROBE=never asks for that";
    if (search.probe.empty()) return "there is no backplane-probe-ggml beside this library; copy it there";
    return why_no_children();
}

std::string_view registration_of_kind(std::string_view kind) {
    if (kind == "hip") return "ROCm";
    if (kind == "hexagon") return "HTP";
    return kind;  // in other cases of letters
}

}  // namespace backplane::compat
