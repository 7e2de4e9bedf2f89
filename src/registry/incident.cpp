#include "registry/incident.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/file.hpp"
#include "base/process.hpp"
#include "base/wall_clock.hpp"

namespace backplane::registry {

namespace fs = std::filesystem;

namespace {

constexpr int kIncidentFormat = 1;
constexpr int64_t kAnHour = 3600;
constexpr int64_t kADay = 24 * kAnHour;
constexpr int64_t kRememberedFor = 60 * kADay;              // after the end of what follows from it
constexpr std::array kKeptFor{kAnHour, kADay, 30 * kADay};  // the first time, the second, later ones
constexpr int kKillsInARow = 2;

int64_t number_in(const base::StoredEntry& entry, const char* name) {
    const auto field = entry.fields.find(name);
    int64_t value = 0;
    if (field != entry.fields.end())
        std::from_chars(field->second.data(), field->second.data() + field->second.size(), value);
    return value;
}

Incident from_entry(const base::StoredEntry& entry) {
    Incident i;
    i.file = entry.about;
    if (const auto key = entry.fields.find("key"); key != entry.fields.end()) i.key = key->second;
    i.mark.process = static_cast<uint64_t>(number_in(entry, "process"));
    i.mark.since = number_in(entry, "since");
    i.mark.stage =
        static_cast<Stage>(std::clamp<int64_t>(number_in(entry, "stage"), 0, static_cast<int64_t>(Stage::unload)));
    i.mark.cause = static_cast<Cause>(std::clamp<int64_t>(number_in(entry, "cause"), 0, static_cast<int64_t>(Cause::asked)));
    i.mark.signal = static_cast<int>(std::clamp<int64_t>(number_in(entry, "signal"), 0, 127));
    i.mark.came_back = number_in(entry, "came_back") != 0;
    i.to_try = number_in(entry, "to_try") != 0;
    i.kept_until = number_in(entry, "kept_until");
    i.times_kept = static_cast<int>(std::clamp<int64_t>(number_in(entry, "times_kept"), 0, 1000));
    i.in_a_row = static_cast<int>(std::clamp<int64_t>(number_in(entry, "in_a_row"), 0, 1000));
    return i;
}

// The module did it, or it happened where a process spends so little time that chance is no explanation.
bool is_the_modules(const MarkRead& mark) {
    if (mark.cause == Cause::fault || mark.cause == Cause::exit) return true;
    return mark.cause == Cause::unknown && !is_long(mark.stage);
}

// A process that was killed in the first long call it made: the kill may be chance, or it may be that the call never comes back.
bool may_be_the_modules(const MarkRead& mark) {
    return mark.cause == Cause::unknown && is_long(mark.stage) && !mark.came_back;
}

int weight(const MarkRead& mark) { return is_the_modules(mark) ? 2 : may_be_the_modules(mark) ? 1 : 0; }

}  // namespace

std::string Incident::text() const {
    std::string text = "the process " + std::to_string(mark.process) + " ended inside '" + name_of(mark.stage) +
                       "' of it on " + base::utc_text(mark.since);
    switch (mark.cause) {
        case Cause::fault: return text + ": " + base::name_of_signal(mark.signal);
        case Cause::elsewhere: return text + ": " + base::name_of_signal(mark.signal) + " on another thread";
        case Cause::exit: return text + ": exit() was called there";
        default: return text + ": it was killed, or the machine stopped";
    }
}

Incidents::Incidents(const fs::path& state_folder)
    : marks_(state_folder.empty() ? fs::path() : marks_folder(state_folder)),
      store_(state_folder.empty() ? fs::path() : state_folder / "incidents", "incident", kIncidentFormat) {}

void Incidents::read_marks() const {
    if (marks_.empty()) return;
    constexpr size_t kMost = 4096;
    std::string problem;
    std::string own;
    for (const fs::path& name : base::names_in(marks_, problem, kMost)) {
        const std::string text = name.string();
        const bool mark = text.ends_with(".mark") || text.ends_with(".mark.taken") || text.ends_with(".mark.new");
        if (!mark) continue;
        if (own.empty()) own = base::process_identity() + "-";
        if (text.starts_with(own)) continue;
        base::HeldFile::take_over(marks_ / name, [&](std::span<const std::byte> content) {
            const std::optional<MarkRead> read = read_mark(content);
            if (!read || read->file.empty()) return;
            Incident incident = find(read->file).value_or(Incident{});
            if (incident.key.substr(0, read->key.size()) != read->key)
                incident = {};  // another build: what was of the old one is void
            const bool several = !incident.file.empty() && incident.to_try;  // processes that ended before anybody looked
            incident.file = read->file;
            if (incident.key.empty()) incident.key = read->key;
            if (!several || weight(*read) >= weight(incident.mark)) incident.mark = *read;
            incident.to_try = true;
            remember(incident);
        });
    }
}

std::optional<Incident> Incidents::find(const fs::path& file) const {
    const std::optional<base::StoredEntry> entry = store_.find(file.string());
    if (!entry || entry->expired) return std::nullopt;
    return from_entry(*entry);
}

std::vector<Incident> Incidents::all() const {
    std::vector<Incident> all;
    for (const base::StoredEntry& entry : store_.all())
        if (!entry.expired) all.push_back(from_entry(entry));
    return all;
}

bool Incidents::forget(const fs::path& file) const {
    const bool found = store_.forget(file.string());
    const fs::path real = base::real_path(file);  // the name that discovery gives it
    return (!real.empty() && real != file && store_.forget(real.string())) || found;
}

size_t Incidents::forget_all() const { return store_.forget_all(); }

void Incidents::settle(Incident& incident, const std::string& key, int64_t now) const {
    incident.key = key;
    incident.to_try = false;
    incident.kept_until = 0;
    if (may_be_the_modules(incident.mark)) ++incident.in_a_row;
    if (is_the_modules(incident.mark) || incident.in_a_row >= kKillsInARow) {
        const size_t which = std::min<size_t>(static_cast<size_t>(incident.times_kept), kKeptFor.size() - 1);
        incident.kept_until = now + kKeptFor[which];
        ++incident.times_kept;
        incident.in_a_row = 0;
    }
    remember(incident);
}

void Incidents::tried(Incident& incident, const std::string& key) const {
    incident.key = key;
    incident.to_try = false;
    incident.kept_until = 0;
    remember(incident);
}

void Incidents::clean_end(const fs::path& file) const {
    std::optional<Incident> incident = find(file);
    if (!incident || incident->in_a_row == 0) return;
    incident->in_a_row = 0;
    remember(*incident);
}

void Incidents::remember(const Incident& i) const {
    base::StoredEntry entry;
    entry.about = i.file;
    entry.until = std::max(base::unix_seconds(), i.kept_until) + kRememberedFor;
    entry.fields = {{"key", i.key},
                    {"process", std::to_string(i.mark.process)},
                    {"since", std::to_string(i.mark.since)},
                    {"stage", std::to_string(static_cast<uint32_t>(i.mark.stage))},
                    {"cause", std::to_string(static_cast<uint32_t>(i.mark.cause))},
                    {"signal", std::to_string(i.mark.signal)},
                    {"came_back", i.mark.came_back ? "1" : "0"},
                    {"to_try", i.to_try ? "1" : "0"},
                    {"kept_until", std::to_string(i.kept_until)},
                    {"times_kept", std::to_string(i.times_kept)},
                    {"in_a_row", std::to_string(i.in_a_row)}};
    static_cast<void>(store_.remember(i.file, std::move(entry)));
}

}  // namespace backplane::registry
