#include "batch/batch.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <thread>

#include "base/file.hpp"
#include "base/hash.hpp"
#include "base/wall_clock.hpp"
#include "batch/claims.hpp"
#include "batch/crew.hpp"
#include "batch/journal.hpp"
#include "batch/schedule.hpp"

namespace backplane::batch {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// What a result is of: the file as it is now (none is, too), and how it is worked on. Empty: nobody can tell, as of a stream.
std::string key_of(const Task& task, const std::string& how) {
    if (task.target.empty() || task.name == "-") return {};
    std::error_code failed;
    const std::filesystem::path path = base::path_of(task.name);
    const base::FileStatus status = base::status_of(path);
    std::string text = how;
    for (const std::string& part :
         {std::filesystem::absolute(path, failed).lexically_normal().string(), std::to_string(status.size),
          std::to_string(status.modified_ns), task.target.filename().string()}) {
        text += '\0';
        text += part;
    }
    return base::hexadecimal(base::hash_of(text));
}

uint64_t bytes_of(const std::filesystem::path& file) { return base::status_of(file).size; }

bool is_there(const Task& task, const base::Json& record) {
    const base::FileStatus status = base::status_of(task.target);
    const base::Json* bytes = record.find("bytes");
    return status.kind == base::FileStatus::Kind::regular && bytes != nullptr && bytes->is_natural() &&
           bytes->get<uint64_t>() == status.size;
}

class Batch {
public:
    Batch(const std::vector<Task>& tasks, const std::vector<Station>& stations, const Options& options)
        : tasks_(tasks), stations_(stations), o_(options) {}

    Outcome run() {
        prepare();
        if (o_.cancel != nullptr && o_.cancel->load() != 0) throw Error(Code::cancelled, "cancelled");
        work_on(mine_);
        if (journal_) journal_->end();
        claims_at_work_ = false;  // what is left when all have ended is done whoever claimed it
        if (leads()) gather();
        if (leads() && claims_) claims_->remove();
        for (auto& [who, share] : shares_) outcome_.shares.push_back(share);
        outcome_.seconds = seconds_since(started_);
        return std::move(outcome_);
    }

private:
    [[nodiscard]] bool leads() const { return o_.ranks.rank == 0 && o_.ranks.size > 1; }

    // Whose is what, and what is done already.
    void prepare() {
        std::vector<double> work;
        std::vector<std::string> names;
        base::Hasher list;
        for (const Task& task : tasks_) {
            keys_.push_back(key_of(task, o_.how));
            work.push_back(task.work);
            names.push_back(task.name);
            list.add(task.name);
            list.add(std::string_view("\0", 1));
        }
        list_ = base::hexadecimal(list.result());
        std::map<std::string, base::Json> before;
        if (!o_.folder.empty()) {
            before = done_so_far(o_.folder);
            journal_.emplace(o_.folder, o_.ranks, list_);
            if (o_.ranks.rank == 0) remove_claims_of_others(o_.folder, o_.ranks);
        }
        follow();
        const std::vector<size_t> owner = shared_out(work, names, static_cast<size_t>(o_.ranks.size));
        offer_help(owner, work, names);
        settled_.assign(tasks_.size(), false);
        for (size_t i = 0; i < tasks_.size(); ++i) {
            const bool mine = owner[i] == static_cast<size_t>(o_.ranks.rank);
            if (mine || leads()) ++outcome_.files;
            const auto record = keys_[i].empty() ? before.end() : before.find(keys_[i]);
            if (news_.contains(keys_[i])) continue;  // another rank of this job was quick: it is told below
            if (!o_.again && record != before.end() && is_there(tasks_[i], record->second)) {
                settled_[i] = true;
                if (mine || leads()) ++outcome_.skipped;
            } else if (mine) {
                mine_.push_back(i);
            }
        }
        for (const auto& [rank, record] : early_) hear(rank, record);
        early_.clear();
    }

    // Ranks of a job that has a name take from each other what was not begun: a rank that is slow, or came late, holds nobody up for long.
    void offer_help(const std::vector<size_t>& owner, const std::vector<double>& work,
                    const std::vector<std::string>& names) {
        if (o_.ranks.size < 2 || o_.ranks.job.empty() || !journal_ || stations_.size() != 1 || o_.in_order) return;
        claims_.emplace(o_.folder, o_.ranks);
        claims_at_work_ = true;
        std::vector<size_t> order(tasks_.size());
        std::iota(order.begin(), order.end(), size_t{0});
        std::sort(order.begin(), order.end(),
                  [&](size_t a, size_t b) { return work[a] != work[b] ? work[a] > work[b] : names[a] < names[b]; });
        offered_ = to_help_with(owner, order, static_cast<size_t>(o_.ranks.rank), static_cast<size_t>(o_.ranks.size));
    }

    // A file of another rank's share that is claimed now.
    std::optional<size_t> helps_with() {
        if (next_offered_ == 0) claims_->look();
        while (next_offered_ < offered_.size()) {
            const size_t i = offered_[next_offered_++];
            if (!settled_[i] && !keys_[i].empty() && claims_->take(keys_[i], false)) return i;
        }
        return {};
    }

    // Rank 0: what the others have done of this job by now.
    void follow() {
        if (!leads()) return;
        for (size_t i = 0; i < tasks_.size(); ++i)
            if (!keys_[i].empty()) by_key_.emplace(keys_[i], i);
        for (int64_t r = 1; r < o_.ranks.size; ++r) {
            others_.push_back({Follower(o_.folder, r, o_.ranks.job, base::unix_seconds()), 0, Clock::now(), false});
            Other& other = others_.back();
            other.pulse = other.follower.pulse();
            for (base::Json& record : other.follower.next()) {
                news_.insert(record.at("key").get<std::string>());
                early_.emplace_back(r, std::move(record));
            }
        }
    }

    CrewOptions crew_options(std::vector<size_t>& which) {
        CrewOptions options{.in_order = o_.in_order, .note = o_.note, .claim = {}, .more = {}};
        if (!claims_at_work_) return options;
        options.claim = [this, &which](size_t task) {
            const std::string& key = keys_[which[task]];
            return key.empty() || claims_->take(key, true);
        };
        options.more = [this, &which]() -> std::optional<double> {
            const std::optional<size_t> i = helps_with();
            if (!i) return {};
            which.push_back(*i);
            return tasks_[*i].work;
        };
        return options;
    }

    void work_on(std::vector<size_t> which) {
        if (which.empty() && !claims_at_work_) return;
        which.reserve(tasks_.size());  // it grows while others read it
        std::vector<double> work;
        for (const size_t i : which) work.push_back(tasks_[i].work);
        Crew crew(work, stations_, crew_options(which));
        std::map<size_t, std::pair<News, double>> waiting;  // those that are done before one that is to be told before them
        size_t told = 0;
        const auto tell = [&](size_t place, const News& news, double seconds) {
            if (!o_.told_in_order) return count(news, seconds);
            waiting.emplace(place, std::pair(news, seconds));
            for (auto next = waiting.find(told); next != waiting.end(); next = waiting.find(told)) {
                const auto [ready, took] = std::move(next->second);
                waiting.erase(next);
                ++told;
                count(ready, took);
            }
        };
        try {
            crew.run(
                [&](size_t i) -> const Task& { return tasks_[which[i]]; },
                [&](const Crew::Result& result) { tell(result.task, settled(which[result.task], result), result.seconds); },
                [&](double fraction) { tick(fraction); });
        } catch (...) {
            for (const auto& [place, ready] : waiting) count(ready.first, ready.second);
            throw;
        }
    }

    // From a worker's thread, one at a time; never while tick() is at work.
    News settled(size_t i, const Crew::Result& result) {
        settled_[i] = true;
        News news{o_.ranks.rank, i, tasks_[i].name, result.device, result.report, result.error, result.code};
        if (journal_ && !keys_[i].empty()) {
            base::Json record{{"key", keys_[i]}, {"file", news.file}, {"device", news.device}, {"seconds", result.seconds}};
            if (news.error.empty()) {
                record["target"] = tasks_[i].target.filename().string();
                record["bytes"] = bytes_of(tasks_[i].target);
                base::Json kept = news.report;
                for (const std::string& name : o_.not_kept) kept.erase(name);
                record["report"] = std::move(kept);
            } else {
                record["error"] =
                    base::Json{{"code", name_of(news.code)}, {"number", static_cast<int>(news.code)}, {"text", news.error}};
            }
            journal_->write(record);
        }
        return news;
    }

    void count(const News& news, double seconds) {
        if (news.error.empty()) {
            ++outcome_.done;
        } else {
            outcome_.failed.push_back(news);
        }
        Share& share = shares_[{news.rank, news.device}];
        share.device = news.device;
        share.rank = news.rank;
        share.files += news.error.empty() ? 1 : 0;
        share.seconds += seconds;
        if (o_.tell && o_.ranks.rank == 0) o_.tell(news);
    }

    // Ten times a second. Throws what ends everything.
    void tick(double fraction) {
        if (o_.cancel != nullptr && o_.cancel->load() != 0) throw Error(Code::cancelled, "cancelled");
        constexpr double kBeat = 5;
        if (journal_ && seconds_since(beat_) > kBeat) {
            journal_->touch();
            beat_ = Clock::now();
        }
        if (leads()) listen();
        if (!o_.progress) return;
        const auto settled = static_cast<size_t>(std::count(settled_.begin(), settled_.end(), true));
        if (leads()) fraction = tasks_.empty() ? 1 : static_cast<double>(settled) / static_cast<double>(tasks_.size());
        o_.progress(fraction, settled, tasks_.size());
    }

    void note(const std::string& text) const {
        if (o_.note) o_.note(text);
    }

    struct Other {
        Follower follower;
        int64_t pulse = 0;
        Clock::time_point heard;
        bool lost = false;
    };

    void listen() {
        for (Other& other : others_) {
            for (const base::Json& record : other.follower.next()) {
                other.heard = Clock::now();
                hear(other.follower.rank(), record);
            }
            if (const int64_t pulse = other.follower.pulse(); pulse != other.pulse) {
                other.pulse = pulse;
                other.heard = Clock::now();
            }
        }
    }

    void hear(int64_t rank, const base::Json& record) {
        try {
            const auto known = by_key_.find(record.at("key").get<std::string>());
            if (known != by_key_.end() && settled_[known->second]) return;  // it began anew
            News news{rank,
                      known == by_key_.end() ? tasks_.size() : known->second,
                      record.at("file").get<std::string>(),
                      record.at("device").get<std::string>(),
                      {},
                      {},
                      Code::ok};
            if (const base::Json* error = record.find("error")) {
                news.error = error->at("text").get<std::string>();
                news.code = static_cast<Code>(error->at("number").get<int>());
            } else {
                news.report = record.at("report");
            }
            if (known != by_key_.end()) settled_[known->second] = true;
            count(news, record.at("seconds").get<double>());
        } catch (const base::JsonError&) {
            // A line that somebody else wrote.
        }
    }

    // Rank 0: until all others ended or are given up; then what nobody did.
    void gather() {
        for (bool waiting = true; waiting;) {
            tick(1);
            waiting = false;
            for (Other& other : others_) {
                if (other.lost || other.follower.ended()) continue;
                if (seconds_since(other.heard) > o_.silence) {
                    other.lost = true;
                    note("rank " + std::to_string(other.follower.rank()) +
                         (other.follower.begun() ? " has given no sign of life for " : " did not begin in ") +
                         std::to_string(static_cast<int64_t>(o_.silence)) + " s: not waited for");
                } else {
                    waiting = true;
                }
            }
            if (waiting) std::this_thread::sleep_for(std::chrono::milliseconds(100));
        }
        tick(1);
        bool other_list = false;
        const bool lost = std::any_of(others_.begin(), others_.end(), [](const Other& other) { return other.lost; });
        for (const Other& other : others_)
            if (other.follower.begun() && other.follower.list() != list_) {
                other_list = true;
                note(
                    "rank " + std::to_string(other.follower.rank()) +
                    " has another list of files: give all the same ones; where each is to do all of its own, say --ranks 1");
            }
        std::vector<size_t> left;
        for (size_t i = 0; i < tasks_.size(); ++i)
            if (!settled_[i]) left.push_back(i);
        // Where all have ended nobody else will: the ranks saw different files when they began.
        if (!lost) work_on(left);
        if (lost || other_list)
            for (const size_t i : left)
                if (!settled_[i]) outcome_.left.push_back(tasks_[i].name);
        if (other_list && outcome_.left.empty()) outcome_.left.emplace_back("files that rank 0 does not know of");
    }

    const std::vector<Task>& tasks_;
    const std::vector<Station>& stations_;
    const Options& o_;
    std::vector<std::string> keys_;
    std::string list_;
    std::vector<size_t> mine_;
    std::vector<bool> settled_;
    std::map<std::string, size_t> by_key_;
    std::optional<Journal> journal_;
    std::optional<Claims> claims_;
    bool claims_at_work_ = false;
    std::vector<size_t> offered_;  // files of other ranks' shares, in the order in which this one takes them
    size_t next_offered_ = 0;
    std::vector<Other> others_;
    std::set<std::string> news_;  // keys of what others did of this job before this rank looked
    std::vector<std::pair<int64_t, base::Json>> early_;
    std::map<std::pair<int64_t, std::string>, Share> shares_;
    Outcome outcome_;
    Clock::time_point started_ = Clock::now(), beat_ = Clock::now();
};

}  // namespace

Outcome run(const std::vector<Task>& tasks, const std::vector<Station>& stations, const Options& options) {
    return Batch(tasks, stations, options).run();
}

}  // namespace backplane::batch
