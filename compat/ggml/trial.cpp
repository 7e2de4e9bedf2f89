#include "trial.hpp"

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "base/process.hpp"
#include "discovery/inspect.hpp"

namespace backplane::compat {

namespace {

namespace fs = std::filesystem;

constexpr int64_t kHour = 3600;
constexpr int64_t kDay = 24 * kHour;
constexpr size_t kMostLibraries = 256;  // of a record; beyond these a change is missed

// What the child said, line by line: "step NAME", "score N", perhaps "unscored", "drives", "uses PATH", "empty",
// "proven", then "good", "failed TEXT", "misfit TEXT",
// "absent TEXT" or "base TEXT", then "end". Of the libraries that it used, `file` and `base` are told from others elsewhere.
struct Record {
    Record(const std::string& text, const std::string& file, const std::string& base_file) {
        size_t libraries = 0;
        std::istringstream lines(text);
        for (std::string line; std::getline(lines, line);) {
            if (line.starts_with("step ")) step = line.substr(5, 64);
            if (line.starts_with("score ")) known.score = std::atoi(line.c_str() + 6);
            if (line == "unscored") known.scored = false;
            if (line == "drives") known.drives = true;
            if (const std::string used = line.starts_with("uses ") ? line.substr(5) : "";
                !used.empty() && used != file && used != base_file && ++libraries <= kMostLibraries)
                (known.uses += known.uses.empty() ? "" : "\t") += used;
            if (line == "empty") known.devices = false;
            if (line == "proven") known.fits = 1;
            if (line.starts_with("failed ")) known.reason = line.substr(7, 512);
            if (line.starts_with("absent ")) known.reason = line.substr(7, 512), known.absent = true;
            if (line.starts_with("misfit ")) known.reason = line.substr(7, 512), known.fits = -1;
            if (line.starts_with("base ")) base = line.substr(5, 512);
            if (line == "good") good = true;
            if (line == "end") complete = true;
        }
    }
    Known known;
    std::string step = "start", base;
    bool good = false, complete = false;
};

// A crash while it computes an op says what kind of fault it is.
std::string perhaps(const std::string& step) {
    return step.starts_with("numbers of ops") ? "; it may be of another release than its libggml-base" : "";
}

Known refused(std::string reason, int64_t until) {
    Known k;
    k.reason = std::move(reason);
    k.until = until;
    return k;
}

// What ended the child; empty: it said all that it had to say.
std::string how_it_ended(const base::ChildOutcome& child, const Record& record) {
    if (child.held_caller) return "it held the application as a debugger does, which stopped it";
    if (child.signal != 0) return "it crashed with " + base::name_of_signal(child.signal);
    return record.complete ? std::string() : "it ended the process with exit code " + std::to_string(child.exit_code);
}

Tried judged(const base::ChildOutcome& child, const fs::path& file, const fs::path& base, std::chrono::milliseconds limit) {
    const Record record(child.record, file.string(), base.string());
    const std::string when = " during '" + record.step + "' when it was tried in a child process";
    Tried tried;
    if (child.timed_out) {
        tried.known = refused("it did not come back within " + std::to_string(limit.count()) + " ms" + when +
                                  " (BACKPLANE_PROBE_LIMIT=SECONDS gives it more)",
                              kHour);
    } else if (child.cut_short) {
        const std::string by = child.signal != 0 ? " with " + base::name_of_signal(child.signal) : std::string();
        tried.for_now = "its trial was ended from outside" + by + when + ": it is not used now";
    } else if (const std::string end = how_it_ended(child, record); !end.empty()) {
        tried.known = refused(end + when + (child.signal != 0 ? perhaps(record.step) : ""), 30 * kDay);
        if (child.signal != 0 && record.step.starts_with("numbers of ops")) tried.known.fits = -1;
    } else if (!record.base.empty()) {
        tried.untried = record.base;
    } else if (!record.good) {
        tried.known = refused(record.known.reason, kHour);
        tried.known.fits = record.known.fits;
        tried.known.absent = record.known.absent;
    } else {
        tried.known = record.known;
    }
    return tried;
}

}  // namespace

Tried try_in_child(const fs::path& file, const Search& search, std::chrono::milliseconds left) {
    const std::chrono::milliseconds limit = std::min(search.limit, left);
    Tried tried;
    if (limit.count() <= 0) {
        tried.for_now = "the time for trying modules was used up by others: it is not used now";
        return tried;
    }
    const std::vector<std::string> words{search.base.string(), file.string()};
    for (int attempt = 0; attempt < 2; ++attempt) {  // what was cut short once may be ended in peace the second time
        const base::ChildOutcome child =
            base::run_supervised(search.probe, words, limit, limit, nullptr, base::Notice::none);
        if (!child.started) {
            tried.untried = "no child process could be had (" + search.probe.string() + ": " + child.problem + ")";
            return tried;
        }
        tried = judged(child, file, search.base, limit);
        if (tried.for_now.empty()) tried.known.around = surroundings(file, tried.known);
        if (tried.for_now.empty()) break;
    }
    return tried;
}

std::string why_not_by_its_bytes(const fs::path& file) {
    const discovery::Inspection look = discovery::inspect(file);
    const discovery::Binary& host = discovery::host_binary();
    if (look.binary.format == discovery::Format::none) return look.text.empty() ? "it is no library" : look.text;
    if (look.problem == ReasonCode::truncated) return look.text;
    if (look.binary.machine != host.machine || look.binary.bits != host.bits)
        return "it is for " + discovery::name_of_machine(look.binary);
    return {};
}

}  // namespace backplane::compat
