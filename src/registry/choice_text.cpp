#include "registry/choice_text.hpp"

#include <algorithm>

#include "base/dynamic_library.hpp"
#include "discovery/sources.hpp"

namespace backplane::registry {

namespace {

std::string list_of(const std::vector<DeviceInfo>& devices) {
    std::string text;
    for (const DeviceInfo& d : devices)
        text += (text.empty() ? "" : ", ") + d.id + " (" + d.name + ", " + name_of(d.kind) +
                (d.fault.empty() ? "" : ", " + d.fault) + ")";
    return text;
}

std::string files_of_modules() {
    return "module files (" + std::string(discovery::module_prefix()) + "*" + std::string(base::library_ending()) + ")";
}

// Of the places that this Context looks at.
std::string where_to_put_them(const ContextOptions& options) {
    if (!options.search_defaults) return "name their folder in module_paths";
    return std::string("copy them beside the library") + (options.use_environment ? " or set BACKPLANE_MODULE_PATH" : "");
}

// What came nearest to being used: of what was tried in vain somebody wants to know before he hears of files that are no modules.
const Candidate* nearest(const std::vector<Candidate>& candidates) {
    for (const Verdict verdict : {Verdict::failed, Verdict::rejected})
        for (const Candidate& c : candidates)
            if (c.verdict == verdict) return &c;
    return nullptr;
}

// A place that was not searched though somebody named it, or though it is there: " ('/no/such/folder': does not exist)".
// Modules may lie in one that was refused, or that cannot be read, so it goes before one that is not there.
std::string place_in_vain(const std::vector<Source>& sources) {
    const Source* found = nullptr;
    for (const Source& s : sources) {
        if (s.searched) continue;
        const bool refused = s.note.starts_with("refused: ") || s.note.starts_with("cannot be read: ");
        const bool named = s.kind == SourceKind::application || s.kind == SourceKind::environment;
        if (refused || (named && found == nullptr)) found = &s;
        if (refused) break;
    }
    return found == nullptr ? std::string() : " ('" + found->path.string() + "': " + found->note + ")";
}

std::string why_no_device(const ContextOptions& options, const Report& report) {
    const std::string none = "no usable device was found on this machine: ";
    const Candidate* best = nearest(report.candidates);
    if (best == nullptr)
        return none + "no " + files_of_modules() + " are in the " + std::to_string(report.sources.size()) +
               " places that were asked" + place_in_vain(report.sources) + "; " + where_to_put_them(options);
    const size_t count = report.candidates.size();
    const std::string which = count == 1 ? "the only module found is not used, "
                                         : "none of the " + std::to_string(count) + " modules found is used, among them ";
    const std::string remedy = best->remedy.empty() ? "update its driver or the module" : best->remedy;
    return none + which + label_of(*best) + ": " + best->reason + "; " + remedy + ", or where other " + files_of_modules() +
           " are, " + where_to_put_them(options);
}

std::string why_nothing_matches(const Filter& filter, const std::string& source, const ContextOptions& options,
                                const Report& report) {
    if (filter.text().empty())
        return "all devices here are software devices, which are not chosen by themselves; name one, of: " +
               list_of(report.devices);
    std::string text = source + " '" + filter.text() + "' matches nothing; there are: " + list_of(report.devices);
    std::vector<std::string> backends;
    for (const Candidate& c : report.candidates)
        if (c.descriptor) backends.push_back(c.descriptor->backend);
    const auto named = filter.named_backends(backends);
    for (const Candidate& c : report.candidates) {
        const bool wanted =
            named && c.descriptor && std::find(named->begin(), named->end(), c.descriptor->backend) != named->end();
        if (!wanted || c.verdict == Verdict::loaded || c.verdict == Verdict::outranked) continue;
        return text + "; " + label_of(c) + " is not used: " + c.reason + (c.remedy.empty() ? "" : "; " + c.remedy);
    }
    return text + "; where other " + files_of_modules() + " are, " + where_to_put_them(options);
}

std::string one_line(std::string text) {
    std::replace_if(
        text.begin(), text.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
    return text;
}

}  // namespace

std::string label_of(const Candidate& c) {
    if (!c.path.empty()) return c.path.filename().string();
    return (c.descriptor ? c.descriptor->backend : "a module") + " (linked in)";
}

std::string why_chosen(const Filter& filter, const std::string& source, const ContextOptions& options,
                       const Report& report) {
    if (report.devices.empty()) return one_line(why_no_device(options, report));
    const std::vector<DeviceInfo> selected = filter.select(report.devices);
    if (selected.empty()) return one_line(why_nothing_matches(filter, source, options, report));
    const DeviceInfo& best = selected.front();
    if (!filter.text().empty()) return best.id + ", by " + source + " '" + filter.text() + "'";
    const auto usable = std::count_if(report.devices.begin(), report.devices.end(),
                                      [](const auto& d) { return d.kind != DeviceKind::software; });
    if (usable == 1 && report.devices.size() == 1) return best.id + " is the only device";
    if (usable == 1) return best.id + " is the only device that is not a software device";
    return best.id + " is first in the order of preference (discrete, virtual, integrated, accelerator, cpu)";
}

}  // namespace backplane::registry
