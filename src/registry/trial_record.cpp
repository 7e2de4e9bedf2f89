#include "registry/trial_record.hpp"

#include <algorithm>
#include <sstream>

#include "base/json.hpp"

namespace backplane::registry {

namespace {

using base::Json;

constexpr int64_t kHour = 3600;
constexpr int64_t kQuarantine = 30 * 24 * kHour;  // a driver may have been repaired in a way that nobody declared
constexpr int64_t kMoment = 60;                   // memory or a device that another process holds

int64_t in_future(int64_t seconds) {
    return seconds +
           std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

constexpr size_t kMostSaid = 400;  // the first error is the cause, those behind it say where

// What it logged as errors, else the end of what it printed.
std::string last_words(const std::string& output, const std::string& said) {
    if (!said.empty()) return "; it said: \"" + said + '"';
    std::string text;
    for (const char c : output) text += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
    text.erase(text.find_last_not_of(' ') + 1);
    if (text.empty()) return {};
    return "; its last output: \"" + (text.size() > 200 ? "..." + text.substr(text.size() - 200) : text) + '"';
}

DevicePlace read_place(const Json& json) {
    return {json.value("identity", "").text(), json.value("name", "").text(), json.value("place", 0).get<unsigned>()};
}
DeviceFault read_device(const Json& json) { return {read_place(json), json.value("reason", "").text(), false}; }

void read_line(const std::string& line, TrialRecord& r) {
    if (line.starts_with("step ")) r.step = line.substr(5, 300);
    if (line.starts_with("said ")) r.said = (r.said + (r.said.empty() ? "" : "; ") + line.substr(5)).substr(0, kMostSaid);
    if (line == "good") r.good = true;
    if (line.starts_with("failed ")) {
        const size_t start = std::min(line.find(' ', 7), line.size() - 1) + 1;
        r.code = reason_code_of(line.substr(7, start - 8)).value_or(ReasonCode::open_failed);
        r.failure = line.substr(start, 1100);
    }
    if (line.starts_with("changed ")) r.changed = line.substr(8, 512);
    if (line.starts_with("devices ")) r.devices = static_cast<uint32_t>(std::strtoul(line.c_str() + 8, nullptr, 10));
    if (line == "harmful") r.harmful = true;
    if (line == "threads") r.threads_left = true;
    if (line == "sound") r.at.reset();
    if (line.starts_with("at ")) {
        r.at = read_device(Json::parse(line.substr(3)));
        r.said.clear();
    }
    if (line.starts_with("left ")) r.left.push_back(read_place(Json::parse(line.substr(5))));
    if (line.starts_with("fault ")) {
        const Json json = Json::parse(line.substr(6));
        r.faults.push_back(read_device(json));
        r.lasting = r.lasting && json.value("lasting", false).get<bool>();
        r.momentary = r.momentary || json.value("momentary", false).get<bool>();
        r.at.reset();
    }
    if (line == "end") r.complete = true;
}

// "crashed with segmentation fault (signal 11)"; empty: it ended well, or said why not.
std::string how_it_ended(const base::ChildOutcome& child, const TrialRecord& record, const std::string& where) {
    if (child.held_caller) return "held this application as a debugger does, which stopped it" + where;
    if (child.signal != 0) return "crashed with " + base::name_of_signal(child.signal) + where;
    if (record.complete && child.exit_code == 0) return {};
    if (child.exit_code >= 0) return "ended the process with exit code " + std::to_string(child.exit_code) + where;
    return "left no complete record" + where;
}

RememberedTrial judge_good(const base::ChildOutcome& child, const TrialRecord& record) {
    RememberedTrial t;
    t.trial = Trial::good;
    t.faults = record.faults;
    t.left = record.left;
    if (!t.faults.empty()) t.until = in_future(record.momentary ? kMoment : record.lasting ? kQuarantine : kHour);
    t.put_back = record.harmful;
    t.keep_mapped = record.threads_left;
    auto add = [&t](const std::string& what) { t.reason += (t.reason.empty() ? "it " : "; it ") + what; };
    if (!record.changed.empty()) add("changes " + record.changed + " of the process");
    if (t.keep_mapped) add("leaves a thread running after it was closed");
    t.left_processes = child.left_processes;
    if (t.left_processes) add("leaves processes behind");
    return t;
}

}  // namespace

TrialRecord::TrialRecord(const std::string& text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        try {
            read_line(line, *this);
        } catch (const std::exception&) {  // not as the program writes it: as good as not written
        }
    }
}

int64_t in_an_hour() { return in_future(kHour); }

RememberedTrial judge_trial(const base::ChildOutcome& child, const TrialRecord& record, std::chrono::milliseconds limit) {
    RememberedTrial t;
    const std::string where = " during '" + record.step + "'";
    t.until = in_future(kQuarantine);
    if (child.timed_out) {
        std::ostringstream seconds;
        seconds << std::chrono::duration<double>(limit).count();
        t.trial = Trial::hung;
        t.reason = "did not come back within " + seconds.str() + " s" + where;
        t.until = in_an_hour();  // a time-out says little: the machine may have been busy; next time it gets more
    } else if (std::string end = how_it_ended(child, record, where); !end.empty()) {
        t.trial = child.signal != 0 ? Trial::crashed : child.exit_code >= 0 ? Trial::exited : Trial::garbage;
        t.reason = std::move(end);
    } else if (record.good) {
        return judge_good(child, record);
    } else if (!record.failure.empty()) {
        t.trial = Trial::failed;
        t.code = record.code;
        t.reason = record.failure;
        t.until = in_an_hour();
        return t;
    } else {
        t.trial = Trial::garbage;
        t.reason = "left no complete record" + where;
    }
    t.reason += last_words(child.output, record.said);
    return t;
}

std::optional<DeviceFault> fault_of_device(const base::ChildOutcome& child, const TrialRecord& record) {
    if (!record.at || child.held_caller) return std::nullopt;
    DeviceFault fault = *record.at;
    const std::string where = " during '" + record.step + "' in its trial";
    fault.reason = child.timed_out ? "did not come back" + where : how_it_ended(child, record, where);
    if (!fault.reason.empty()) fault.reason += last_words(child.output, record.said);
    fault.ends_process = true;
    return fault.reason.empty() ? std::nullopt : std::optional(fault);
}

}  // namespace backplane::registry
