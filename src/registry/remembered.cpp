#include "registry/remembered.hpp"

#include "base/file.hpp"
#include "base/folder_record.hpp"
#include "base/shell_word.hpp"
#include "base/wall_clock.hpp"
#include "registry/incident.hpp"
#include "registry/trial.hpp"
#include "registry/verdict_store.hpp"

namespace backplane::registry {

namespace {

namespace fs = std::filesystem;

fs::path below(const fs::path& state_folder, const char* name) {
    return state_folder.empty() ? fs::path() : state_folder / name;
}

std::string field(const base::StoredEntry& entry, const char* name) {
    const auto found = entry.fields.find(name);
    return found == entry.fields.end() ? std::string() : found->second;
}

Remembered of(const RememberedTrial& t) {
    Remembered r;
    r.kind = "trial";
    r.file = t.file;
    r.outcome = name_of(t.trial);
    r.reason = t.by_hand ? "trusted by hand" : t.reason;
    for (const DevicePlace& device : t.left)
        r.reason += (r.reason.empty() ? "" : "; ") + device.name + " is tried when it is wanted";
    r.when = t.when;
    r.until = t.until;
    r.attempts = t.attempts;
    r.by_hand = t.by_hand;
    r.expired = t.expired;
    return r;
}

Remembered of(const char* kind, const base::StoredEntry& entry) {
    Remembered r;
    r.kind = kind;
    r.file = entry.about;
    r.device = field(entry, kDeviceField);
    r.outcome = field(entry, kOutcomeField);
    r.reason = field(entry, kReasonField);
    r.when = entry.when;
    r.until = entry.until;
    r.expired = entry.expired;
    return r;
}

Remembered of(const Incident& incident) {
    Remembered r;
    r.kind = "incident";
    r.file = incident.file;
    r.outcome = incident.to_try ? "to be tried again" : "ended";
    r.reason = incident.text();
    r.when = incident.mark.since;
    r.until = incident.kept_until;
    r.expired = !incident.to_try && !incident.kept_out(base::unix_seconds());
    return r;
}

Remembered of(const fs::path& file, const base::FileRecord& f) {
    Remembered r;
    r.kind = "trial";
    r.file = file.string();
    r.outcome = f.reason.empty() ? "good" : f.absent ? "absent" : "refused";
    r.reason = f.reason;
    r.when = f.since;
    r.until = f.until;
    r.expired = f.until != 0 && f.until < base::unix_seconds();
    return r;
}

// Calls use(record, its file) for each.
template <class Use>
void each_folder_record(const fs::path& place, const Use& use) {
    std::string problem;
    for (const fs::path& name : place.empty() ? std::vector<fs::path>() : base::names_in(place, problem))
        if (name.extension() == fs::path(base::kEndingOfFolderRecords))
            if (std::optional<base::FolderRecord> record = base::FolderRecord::read(place / name))
                use(*record, place / name);
}

size_t forget_folder_records(const fs::path& place) {
    size_t count = 0;
    each_folder_record(place, [&](const base::FolderRecord& record, const fs::path& file) {
        if (base::remove_file(file)) count += record.files.size();
    });
    return count;
}

size_t forget_in_folder_records(const fs::path& place, const fs::path& real) {
    size_t count = 0;
    each_folder_record(place, [&](base::FolderRecord& record, const fs::path& file) {
        const auto forgotten = std::erase_if(record.files, [&](const auto& entry) {
            const fs::path file_of_entry = record.folder / base::path_of(entry.first);
            return file_of_entry == real || base::real_path(file_of_entry) == real;
        });
        if (forgotten != 0 && record.write(file).empty()) count += forgotten;
    });
    return count;
}

}  // namespace

base::KeyedStore op_store(const fs::path& state_folder) { return {below(state_folder, "ops"), "op", 2}; }

base::KeyedStore tuned_store(const fs::path& state_folder) { return {below(state_folder, "tuned"), "tuned", 2}; }

base::KeyedStore cost_store(const fs::path& state_folder) { return {below(state_folder, "costs"), "costs", 1}; }

base::KeyedStore time_store(const fs::path& state_folder) { return {below(state_folder, "times"), "times", 1}; }

base::KeyedStore whole_store(const fs::path& state_folder) { return {below(state_folder, "whole"), "whole", 1}; }

std::vector<Remembered> all_remembered(const fs::path& state_folder, const fs::path& folder_records) {
    std::vector<Remembered> all;
    for (const RememberedTrial& t : VerdictStore(state_folder).all()) all.push_back(of(t));
    for (const base::StoredEntry& entry : op_store(state_folder).all()) all.push_back(of("op", entry));
    for (const base::StoredEntry& entry : tuned_store(state_folder).all()) all.push_back(of("tuned", entry));
    for (const base::StoredEntry& entry : cost_store(state_folder).all()) all.push_back(of("costs", entry));
    for (const base::StoredEntry& entry : time_store(state_folder).all()) all.push_back(of("times", entry));
    for (const base::StoredEntry& entry : whole_store(state_folder).all()) all.push_back(of("whole", entry));
    for (const Incident& incident : Incidents(state_folder).all()) all.push_back(of(incident));
    each_folder_record(folder_records, [&](const base::FolderRecord& record, const fs::path&) {
        for (const auto& [name, file] : record.files) all.push_back(of(record.folder / base::path_of(name), file));
    });
    return all;
}

size_t forget_all_remembered(const fs::path& state_folder, const fs::path& folder_records) {
    return VerdictStore(state_folder).forget_all() + op_store(state_folder).forget_all() +
           tuned_store(state_folder).forget_all() + cost_store(state_folder).forget_all() +
           time_store(state_folder).forget_all() + whole_store(state_folder).forget_all() +
           Incidents(state_folder).forget_all() + forget_folder_records(folder_records);
}

size_t forget_remembered(const fs::path& state_folder, const fs::path& file, const fs::path& folder_records) {
    const fs::path real = base::real_path(file);
    const std::string about = (real.empty() ? fs::absolute(file).lexically_normal() : real).string();
    const auto same = [&about](const base::StoredEntry& entry) { return entry.about == about; };
    return VerdictStore(state_folder).forget_file(about) + op_store(state_folder).forget_if(same) +
           cost_store(state_folder).forget_if(same) + time_store(state_folder).forget_if(same) +
           (Incidents(state_folder).forget(file) ? 1 : 0) + forget_in_folder_records(folder_records, about);
}

std::string remembered_text(int64_t when, int64_t until, const fs::path& file, const fs::path& state_folder) {
    std::string text = "remembered since " + base::utc_text(when);
    if (until != 0) text += " until " + base::utc_text(until);
    text += "; `";
    if (state_folder != registry::state_folder(ContextOptions{}))
        text += "BACKPLANE_STATE_DIR=" + base::shell_word(state_folder.string()) + ' ';
    return text + "backplane modules forget " + base::shell_word(file.string()) + "` has it forgotten";
}

}  // namespace backplane::registry
