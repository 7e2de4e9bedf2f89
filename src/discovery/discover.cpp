#include "discovery/discover.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include "backplane/note.h"
#include "base/file.hpp"
#include "discovery/sources.hpp"

namespace backplane::discovery {

namespace {

Rated rate(Inspection inspection, SourceKind source, const Host& host) {
    Rated rated;
    rated.candidate.path = inspection.path;
    rated.candidate.source = source;
    rated.candidate.descriptor = inspection.descriptor;
    Judgement judgement = judge(inspection, host);
    rated.candidate.verdict = Verdict::rejected;
    rated.candidate.code = judgement.code;
    rated.candidate.reason = std::move(judgement.reason);
    rated.candidate.remedy = std::move(judgement.remedy);
    rated.inspection = std::move(inspection);
    return rated;
}

bool good(const Rated& rated) { return rated.candidate.code == ReasonCode::none; }

Rated rate_linked_in(const bp_static_module& module, const Host& host) {
    Inspection inspection;
    read_descriptor_json(module.descriptor != nullptr ? module.descriptor : "", BP_ABI, module.flags, inspection);
    // It is part of this program: whatever was true of the program when it was built is true of it.
    if (inspection.descriptor) inspection.descriptor->flags &= ~uint32_t{BP_NOTE_SANITIZER};
    Rated rated = rate(std::move(inspection), SourceKind::linked_in, host);
    rated.linked_in = &module;
    return rated;
}

Inspection inspect_found(const Found& found, base::DynamicLibrary& library) {
    if (found.by_name) return inspect_by_name(found.path, library);
    if (found.distrust.code == ReasonCode::none) return inspect(found.path);
    Inspection refused;
    refused.path = found.path;
    refused.problem = found.distrust.code;
    refused.text = found.distrust.text;
    return refused;
}

// The folders around this library and its program, and the installed ones: who may put a file there may change the application as well.
std::set<std::filesystem::path> own_folders() {
    std::set<std::filesystem::path> folders;
    for (const std::filesystem::path& file : {base::own_file(), base::executable_file()})
        if (!file.empty())
            for (const std::filesystem::path& place : places_around(file)) folders.insert(base::real_path(place));
    for (const std::filesystem::path& installed : installed_folders()) folders.insert(base::real_path(installed));
    folders.erase(std::filesystem::path());
    return folders;
}

// Whether a file's word counts that it needs no trial. A file that lies anywhere else could say so and then crash.
class Belief {
public:
    explicit Belief(const ContextOptions& options) : options_(options) {}
    [[nodiscard]] bool in(const Found& found) {
        if (found.by_name || (found.source != SourceKind::environment && found.source != SourceKind::application))
            return true;
        if (found.source == SourceKind::application && options_.trust_module_paths) return true;
        if (!own_) own_ = own_folders();
        return own_->contains(found.path.parent_path());
    }

private:
    const ContextOptions& options_;
    std::optional<std::set<std::filesystem::path>> own_;
};

// One module under two names, or two copies of one build: the second is not a second module.
void mark_duplicates(std::vector<Rated>& all) {
    for (size_t i = 0; i < all.size(); ++i) {
        for (size_t k = 0; k < i && good(all[i]) && all[i].linked_in == nullptr; ++k) {
            if (!good(all[k]) || all[k].linked_in != nullptr) continue;
            const Inspection& a = all[i].inspection;
            const Inspection& b = all[k].inspection;
            const bool same_file =
                a.status.number != 0 && a.status.volume == b.status.volume && a.status.number == b.status.number;
            const bool same_build = !a.binary.build_id.empty() && a.binary.build_id == b.binary.build_id &&
                                    a.descriptor->json == b.descriptor->json;
            if (!same_file && !same_build) continue;
            all[i].candidate.code = ReasonCode::duplicate;
            all[i].candidate.reason = std::string(same_file ? "the same file as " : "the same build as ") + b.path.string();
        }
    }
}

// The order within one backend: what the application or user named, before what lies about; then by what the modules are.
bool before(const Rated& a, const Rated& b) {
    if (good(a) != good(b)) return good(a);
    if (!good(a)) return false;
    if (a.candidate.descriptor->backend != b.candidate.descriptor->backend)
        return a.candidate.descriptor->backend < b.candidate.descriptor->backend;
    auto rank = [](SourceKind kind) {
        switch (kind) {
            case SourceKind::application: return 0;
            case SourceKind::environment: return 1;
            case SourceKind::linked_in: return 2;
            case SourceKind::library_folder: return 3;
            case SourceKind::executable_folder: return 4;
            case SourceKind::installed: return 5;
        }
        return 6;
    };
    if (a.candidate.source != b.candidate.source) return rank(a.candidate.source) < rank(b.candidate.source);
    if (a.place != b.place) return a.place < b.place;
    return compare(a.inspection, b.inspection) < 0;
}

}  // namespace

std::vector<Rated> rate_all(std::vector<Inspection> inspections, const Host& host) {
    std::vector<Rated> all;
    for (Inspection& inspection : inspections) all.push_back(rate(std::move(inspection), SourceKind::application, host));
    mark_duplicates(all);
    std::stable_sort(all.begin(), all.end(), before);
    return all;
}

Discovery discover(const ContextOptions& options, const bp_static_module* linked_in, std::string_view cpu_mask) {
    return discover(options, linked_in, this_host(cpu_mask));
}

Discovery discover(const ContextOptions& options, const bp_static_module* linked_in, const Host& host) {
    Search search = find_modules(options, library_ending_of(host));
    Discovery result;
    result.sources = std::move(search.sources);
    result.notes = std::move(search.notes);
    if (linked_in != nullptr && options.use_linked_in && linked_in->struct_size != 0) {
        size_t count = 0;
        for (const bp_static_module* m = linked_in; m->struct_size != 0; ++m, ++count)
            result.rated.push_back(rate_linked_in(*m, host));
        result.sources.push_back(
            {SourceKind::linked_in, {}, true, std::to_string(count) + (count == 1 ? " module" : " modules")});
    }
    Belief belief(options);
    for (const Found& found : search.files) {
        base::DynamicLibrary library;
        Inspection inspection = inspect_found(found, library);
        inspection.believed = belief.in(found);
        result.rated.push_back(rate(std::move(inspection), found.source, host));
        result.rated.back().place = found.place;
        result.rated.back().by_name = std::move(library);
    }
    mark_duplicates(result.rated);
    std::stable_sort(result.rated.begin(), result.rated.end(), before);
    return result;
}

}  // namespace backplane::discovery
