#include "cli/batch_command.hpp"

#include <algorithm>
#include <chrono>
#include <map>

#include "base/elapsed.hpp"
#include "base/environment.hpp"
#include "base/file.hpp"
#include "base/terminal.hpp"
#include "cli/targets.hpp"
#include "cli/usage.hpp"

namespace backplane::cli {

namespace {

constexpr const char* kMany = "Many files";

std::string counted(size_t n, const char* what) { return std::to_string(n) + " " + what + (n == 1 ? "" : "s"); }

std::vector<std::string> parts_of(const std::string& list) {
    std::vector<std::string> parts;
    for (size_t start = 0; start <= list.size();) {
        const size_t end = std::min(list.find(',', start), list.size());
        if (end > start) parts.push_back(list.substr(start, end - start));
        start = end + 1;
    }
    return parts;
}

std::vector<std::string> all_devices(const Context& context) {
    std::vector<std::string> ids;
    for (const DeviceInfo& d : context.devices())
        if (d.kind != DeviceKind::software && d.same_chip_as.empty() && d.fault.empty()) ids.push_back(d.id);
    return ids;
}

// A device that is kept out, after the process was killed inside of its driver, say, ends no batch.
std::vector<std::string> named_devices(const Context& context, const std::string& list) {
    const std::vector<std::string> filters = parts_of(list);
    if (filters.empty()) throw UsageError("--devices '" + list + "' names no device");
    std::vector<std::string> ids, problems;
    for (const std::string& filter : filters) {
        try {
            const std::string id = context.choose(filter).info().id;
            if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
        } catch (const Error& error) {
            if (error.code() != Code::not_found) throw;
            problems.emplace_back(error.what());
        }
    }
    if (ids.empty()) throw Error(Code::not_found, problems.front());
    for (const std::string& problem : problems) err("note: without one of --devices: {}\n", problem);
    return ids;
}

// What is printed while and after all is done.
class BatchReport {
public:
    BatchReport(const std::vector<batch::Task>& tasks, const BatchChoice& choice, const batch::Options& options,
                const BatchWords& words, Run& run)
        : tasks_(tasks),
          ranks_(options.ranks),
          words_(words),
          run_(run),
          progress_(tasks.size() == 1 ? base::path_of(tasks.front().name).filename().string() : words.doing,
                    choice.progress) {
        for (const batch::Task& task : tasks) work_ += task.work;
        say_what_is_done();
    }

    void tell(const batch::News& news) {
        done_ += news.error.empty() ? 1 : 0;
        say_what_is_done();
        show(news);
    }

    void progress(double fraction, size_t done, size_t of) {
        if (ranks_.rank != 0) return;
        const double took = base::seconds_since(started_);
        std::string remark = of > 1 ? std::to_string(done) + "/" + std::to_string(of) + " files" : std::string();
        if (work_ > 0 && words_.speed && fraction > 0 && ranks_.size == 1)
            remark += (remark.empty() ? "" : ", ") + words_.speed(work_ * fraction, took);
        progress_.show(fraction, remark);
    }
    void hide() { progress_.hide(); }

    void sum_up(const batch::Outcome& outcome) {
        hide();
        // Of several ranks the first alone: mpirun, and srun if it is told to, end all where one fails.
        if (ranks_.rank != 0) return;
        if (!outcome.failed.empty() || !outcome.left.empty()) run_.exit_code = kFailed;
        if (!in_folder_) return;
        if (run_.json) return sum_up_json(outcome);
        out("{} of {}{} in {} s\n", outcome.done, counted(outcome.files, "file"),
            outcome.skipped == 0 ? "" : ", " + std::to_string(outcome.skipped) + " were done before",
            fixed(outcome.seconds, 1));
        for (const batch::Share& share : outcome.shares) {
            if (share.device.empty()) continue;
            out("  {}{}: {}, {} s\n", ranks_.size > 1 ? "rank " + std::to_string(share.rank) + ", " : "", share.device,
                counted(share.files, "file"), fixed(share.seconds, 1));
        }
        if (!outcome.failed.empty()) out("{} failed:\n", counted(outcome.failed.size(), "file"));
        for (const batch::News& news : outcome.failed) out("  {}\n", news.file);
        if (!outcome.left.empty())
            out("{} not done; the same command again does what is left:\n", counted(outcome.left.size(), "file"));
        for (const std::string& file : outcome.left) out("  {}\n", file);
    }
    void is_in_folder() { in_folder_ = true; }

private:
    // Where a signal ends it now.
    void say_what_is_done() const {
        run_.if_cancelled = tasks_.size() == 1
                                ? ": the file is not done"
                                : ": " + std::to_string(done_) + " of " + std::to_string(tasks_.size()) + " files are done";
    }

    void sum_up_json(const batch::Outcome& outcome) const {
        Json devices = Json::array();
        for (const batch::Share& share : outcome.shares)
            devices.push_back(
                {{"device", share.device}, {"rank", share.rank}, {"files", share.files}, {"seconds", share.seconds}});
        Json failed = Json::array();
        for (const batch::News& news : outcome.failed) failed.push_back(news.file);
        print({{"summary",
                {{"files", outcome.files},
                 {"done", outcome.done},
                 {"done_before", outcome.skipped},
                 {"failed", failed},
                 {"left", outcome.left},
                 {"ranks", ranks_.size},
                 {"devices", devices},
                 {"seconds", outcome.seconds}}}});
    }

    void show(const batch::News& news) {
        hide();
        if (news.error.empty()) {
            if (run_.json) {
                Json json = words_.json(news);
                if (ranks_.size > 1) json["rank"] = news.rank;
                print(json);
            } else if (const std::string line = words_.line(news); !line.empty()) {
                out_lines(line);
            }
            static_cast<void>(base::flush_output());
            return;
        }
        if (tasks_.size() == 1 && ranks_.size == 1) throw Error(news.code, news.error);
        err_lines(news.error);
        if (run_.json)
            print({{"file", news.file}, {"error", {{"code", backplane::name_of(news.code)}, {"text", news.error}}}});
    }

    const std::vector<batch::Task>& tasks_;
    bool in_folder_ = false;
    batch::Ranks ranks_;
    const BatchWords& words_;
    Run& run_;
    Progress progress_;
    size_t done_ = 0;
    double work_ = 0;
    std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
};

}  // namespace

void add_batch_options(const Command& command, BatchChoice& choice) {
    command
        .option("--manifest", choice.manifest,
                "List of input files, one a line, or JSON with audio_filepath; - reads it from the input")
        .type("FILE")
        .group(kMany);
    command
        .option("--devices", choice.devices,
                "Devices that share the files, a filter each, with commas between; without it: all of this machine")
        .type("LIST")
        .group(kMany);
    command
        .option("--ranks", choice.ranks,
                "How many processes share the files, where who started them does not say (Kubernetes); 1: this one does all")
        .type("N")
        .group(kMany)
        .in_range(1, 1000000);
    command.option("--silence", choice.silence, "Seconds without a sign of life after which rank 0 gives another rank up")
        .type("SECONDS")
        .group(kMany)
        .shows_default()
        .in_range(1, 1000000);
    command.flag("--again", choice.again, "Do also what the journal in the output folder says is done").group(kMany);
    command.flag("--force", choice.force, "Write over an input, or over a file that is read-only");
    command.flag("--progress", choice.progress, "Say how far it is, where there is no terminal to show a bar: ten lines");
}

std::string how_of(const std::string& command, const std::filesystem::path& model) {
    std::string how = command + "\n" BACKPLANE_VERSION;
    std::error_code failed;
    for (const auto& file : {model, model / "model.safetensors"}) {
        const base::FileStatus status = base::status_of(file);
        how += "\n" + std::filesystem::absolute(file, failed).lexically_normal().string() + "\n" +
               std::to_string(status.size) + "\n" + std::to_string(status.modified_ns);
    }
    return how;
}

void check_targets(const BatchChoice& choice, const std::vector<batch::Task>& tasks) {
    using Kind = base::FileStatus::Kind;
    using Number = std::pair<uint64_t, uint64_t>;
    if (tasks.size() > 1 && !choice.output.empty() && !batch::is_folder(choice.output))
        throw UsageError("--output '" + choice.output + "' must be a folder that is there, for " +
                         std::to_string(tasks.size()) + " files");
    std::map<Number, const std::string*> inputs;
    for (const batch::Task& task : tasks) {
        const base::FileStatus status = base::status_of(base::path_of(task.name));
        if (status.kind != Kind::missing) inputs.emplace(Number(status.volume, status.number), &task.name);
    }
    std::map<std::filesystem::path, const std::string*> targets;
    for (const batch::Task& task : tasks) {
        if (task.target.empty()) continue;
        const std::string target = task.target.string();
        if (const auto [first, fresh] = targets.emplace(task.target.lexically_normal(), &task.name); !fresh)
            throw UsageError("'" + *first->second + "' and '" + task.name + "' would both be written to '" + target +
                             "': do them one by one");
        const base::FileStatus status = base::status_of(task.target);
        const auto same = status.kind == Kind::missing ? inputs.end() : inputs.find({status.volume, status.number});
        // The input is another one's, perhaps, or there is none of this name yet: then its own is as good to look at for what else may be wrong.
        check_target("--output", target, same != inputs.end() ? *same->second : task.name, choice.force);
    }
}

std::vector<std::string> devices_for(const Context& context, const DeviceChoice& choice, const BatchChoice& batch,
                                     const batch::Ranks& ranks, std::string& why) {
    std::vector<std::string> ids;
    if (!batch.devices.empty()) {
        ids = named_devices(context, batch.devices);
        why = "--devices names " + (ids.size() == 1 ? ids.front() : std::to_string(ids.size()) + " devices");
    } else if ((!choice.device.empty() && choice.device != "auto") || base::environment("BACKPLANE_DEVICE")) {
        ids.push_back(context.choose(choice.device).info().id);
        why = context.why();
    } else {
        ids = all_devices(context);
        if (ids.size() < 2) ids = {context.choose().info().id};
        why = ids.size() < 2 ? context.why() : "all " + std::to_string(ids.size()) + " devices of this machine take part";
    }
    if (ranks.size < 2) return ids;
    std::vector<std::string> dealt;
    for (const DeviceInfo& d : context.devices())
        if (d.kind != DeviceKind::cpu && std::find(ids.begin(), ids.end(), d.id) != ids.end()) dealt.push_back(d.id);
    if (dealt.empty() || !batch.devices.empty()) dealt = ids;
    const std::string mine = dealt[static_cast<size_t>(ranks.local_rank) % dealt.size()];
    why = "rank " + std::to_string(ranks.rank) + " of " + std::to_string(ranks.size) + ", which " + ranks.launcher +
          " started, takes " + mine + " by its local rank " + std::to_string(ranks.local_rank);
    return {mine};
}

void run_batch(const std::vector<batch::Task>& tasks, const std::vector<batch::Station>& stations, const BatchChoice& choice,
               batch::Options options, const BatchWords& words, Run& run) {
    BatchReport report(tasks, choice, options, words, run);
    if (!options.folder.empty()) report.is_in_folder();
    options.again = choice.again;
    options.silence = static_cast<double>(choice.silence);
    options.cancel = &run.interrupted;
    options.tell = [&](const batch::News& news) { report.tell(news); };
    options.note = [&](const std::string& text) {
        report.hide();
        err("note: {}\n", text);
    };
    options.progress = [&](double fraction, size_t done, size_t of) { report.progress(fraction, done, of); };
    report.sum_up(batch::run(tasks, stations, options));
}

}  // namespace backplane::cli
