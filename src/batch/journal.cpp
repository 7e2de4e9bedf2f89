#include "batch/journal.hpp"

#include <utility>

#include "base/file.hpp"
#include "base/held_file.hpp"
#include "base/wall_clock.hpp"

namespace backplane::batch {

namespace {

constexpr std::string_view kPrefix = ".backplane-batch-", kEnding = ".jsonl";

// Null: it is no JSON.
base::Json parsed(const std::string& line) {
    try {
        return base::Json::parse(line);
    } catch (const base::JsonError&) {
        return {};
    }
}

std::string text_of(const base::Json& json, std::string_view name) {
    const base::Json* value = json.find(name);
    return value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
}

}  // namespace

std::filesystem::path journal_file(const std::filesystem::path& folder, int64_t rank) {
    return folder / (std::string(kPrefix) + std::to_string(rank) + std::string(kEnding));
}

Journal::Journal(const std::filesystem::path& folder, const Ranks& ranks, const std::string& list)
    : file_(journal_file(folder, ranks.rank)) {
    write({{"run", ranks.job},
           {"list", list},
           {"rank", ranks.rank},
           {"ranks", ranks.size},
           {"process", base::process_number()},
           {"at", base::unix_seconds()}});
}

void Journal::write(const base::Json& record) { file_.append(record.dump(-1, base::BadText::replace)); }
void Journal::end() { write({{"end", base::unix_seconds()}}); }

std::map<std::string, base::Json> done_so_far(const std::filesystem::path& folder) {
    std::map<std::string, base::Json> done;
    std::string problem;
    for (const auto& file : base::names_in(folder, problem, 10'000'000)) {
        const std::string name = file.filename().string();
        if (name.compare(0, kPrefix.size(), kPrefix) != 0) continue;
        for (const std::string& line : base::AppendedLines(folder / file.filename()).next()) {
            base::Json record = parsed(line);
            const std::string key = text_of(record, "key");
            if (!key.empty() && !record.contains("error")) done[key] = std::move(record);
        }
    }
    return done;
}

Follower::Follower(const std::filesystem::path& folder, int64_t rank, std::string job, int64_t since)
    : lines_(journal_file(folder, rank)), rank_(rank), job_(std::move(job)), since_(since) {}

std::vector<base::Json> Follower::next() {
    constexpr int64_t kSpread = 600;  // seconds between the starts of ranks, and between the clocks of machines
    std::vector<base::Json> news;
    for (const std::string& line : lines_.next()) {
        base::Json record = parsed(line);
        if (record.contains("run")) {
            const std::string job = text_of(record, "run");
            const base::Json* at = record.find("at");
            const int64_t began = at != nullptr && at->is_whole() ? at->get<int64_t>() : 0;
            begun_ = job_.empty() || job.empty() ? began >= since_ - kSpread : job == job_;
            ended_ = false;
            list_ = text_of(record, "list");
        } else if (begun_ && record.contains("end")) {
            ended_ = true;
        } else if (begun_ && !text_of(record, "key").empty()) {
            news.push_back(std::move(record));
        }
    }
    return news;
}

}  // namespace backplane::batch
