// cache: the kernels that were compiled and kept (docs/kernel-cache.md).
#include <algorithm>
#include <map>

#include "base/file.hpp"
#include "base/file_error.hpp"
#include "cache/folder.hpp"
#include "cache/settings.hpp"
#include "cli/cli.hpp"

namespace backplane::cli {

namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr uint64_t kLargest = uint64_t{1} << 30;  // whatever the limit is now: an entry may be older than it

// What is kept of one build of a module.
struct Build {
    size_t entries = 0;
    uint64_t bytes = 0;
    int64_t used_ns = 0;
};

std::map<std::string, Build> builds_in(const std::filesystem::path& folder, const std::vector<cache::FoundFile>& files) {
    std::map<std::string, Build> builds;
    for (const cache::FoundFile& file : files) {
        if (file.temporary) continue;
        Build& build = builds[cache::scope_of(folder, file.name)];
        ++build.entries;
        build.bytes += file.bytes;
        build.used_ns = std::max(build.used_ns, file.used_ns);
    }
    return builds;
}

std::string ago(int64_t when) {
    const int64_t seconds = std::max<int64_t>(0, cache::now_ns() / kSecond - when);
    if (seconds < 120) return std::to_string(seconds) + " s ago";
    if (seconds < 7200) return std::to_string(seconds / 60) + " min ago";
    if (seconds < 172800) return std::to_string(seconds / 3600) + " h ago";
    return std::to_string(seconds / 86400) + " days ago";
}

cache::Settings settings_of(const DeviceChoice& choice) {
    cache::Settings settings = cache::settings_for(context_options(choice));
    if (settings.folder.empty())
        throw Error(Code::not_found, settings.problem.empty()
                                         ? "there is no kernel cache: this user has no cache folder; name "
                                           "one with --cache DIR or BACKPLANE_CACHE_DIR"
                                         : settings.problem);
    return settings;
}

std::vector<cache::FoundFile> files_of(const cache::Settings& settings) {
    std::string problem;
    std::vector<cache::FoundFile> files = cache::files_in(settings.folder, problem);
    if (!problem.empty())
        throw Error(Code::denied, "cannot read the kernel cache " + base::quoted(settings.folder) + ": " + problem);
    return files;
}

void info(const DeviceChoice& choice, const Run& run) {
    const cache::Settings settings = settings_of(choice);
    const Json facts = cache_facts(context_options(choice));
    if (run.json) return print(facts);
    out("folder    {}{}\n", settings.folder.string(),
        facts["exists"].get<bool>() || !facts["problem"].get<std::string>().empty() ? "" : " (made when something is kept)");
    out("entries   {}, {} of {}\n", facts["entries"].get<size_t>(),
        facts["entries"].get<size_t>() == 0 ? "nothing" : human_bytes(facts["bytes"].get<uint64_t>()),
        human_bytes(settings.limit));
    if (facts["temporaries"].get<size_t>() != 0)
        out("unfinished {} files; they go when nobody can be writing them any more\n", facts["temporaries"].get<size_t>());
    if (const std::string problem = facts["problem"].get<std::string>(); !problem.empty()) out("problem   {}\n", problem);
    std::vector<std::vector<std::string>> rows{{"MODULE", "ENTRIES", "SIZE", "USED"}};
    for (const Json& module : facts["modules"]) {
        const auto name = module["build"].get<std::string>();
        rows.push_back({name.empty() ? "(unreadable)" : name, std::to_string(module["entries"].get<size_t>()),
                        human_bytes(module["bytes"].get<uint64_t>()), ago(module["last_used"].get<int64_t>())});
    }
    if (rows.size() == 1) return;
    print_table(rows);
}

void clear(const DeviceChoice& choice, const Run& run) {
    const cache::Settings settings = settings_of(choice);
    uint64_t bytes = 0;
    for (const cache::FoundFile& file : files_of(settings)) bytes += file.bytes;
    const size_t removed = cache::clear(settings.folder);
    const size_t left = files_of(settings).size();
    if (run.json)
        print({{"folder", settings.folder.string()}, {"removed", removed}, {"bytes", bytes}, {"left", left}});
    else
        out("{} files removed, {}\n", removed, human_bytes(bytes));
    if (left != 0)
        throw Error(Code::denied, std::to_string(left) + " files of the kernel cache " + base::quoted(settings.folder) +
                                      " are still there: in use, just written, or not yours to remove");
}

int verify(const DeviceChoice& choice, bool repair, const Run& run) {
    const cache::Settings settings = settings_of(choice);
    size_t good = 0, removed = 0;
    Json bad = Json::array();
    for (const cache::FoundFile& file : files_of(settings)) {
        if (file.temporary) continue;
        const std::string problem = cache::problem_of(settings.folder, file.name, std::max(settings.limit, kLargest));
        if (problem.empty()) {
            ++good;
            continue;
        }
        const bool gone = repair && base::remove_file(settings.folder / file.name);
        removed += gone ? 1 : 0;
        bad.push_back({{"file", file.name}, {"problem", problem}, {"removed", gone}});
        if (!run.json) out("{}: {}{}\n", file.name, problem, gone ? " (removed)" : "");
    }
    if (run.json)
        print({{"folder", settings.folder.string()}, {"good", good}, {"bad", bad}});
    else
        out("{} good, {} bad{}\n", good, bad.size(),
            bad.empty() || repair ? "" : "; they are never used, --repair removes them");
    return bad.size() == removed ? kDone : kFailed;
}

}  // namespace

Json cache_facts(const ContextOptions& options) {
    const cache::Settings settings = cache::settings_for(options);
    Json facts{{"folder", settings.folder.string()},
               {"exists", false},
               {"limit", settings.limit},
               {"bytes", 0},
               {"entries", 0},
               {"temporaries", 0},
               {"temporary_bytes", 0},
               {"problem", settings.problem}};
    facts["modules"] = Json::array();
    if (settings.folder.empty()) return facts;
    const base::FileStatus status = base::status_of(settings.folder);
    facts["exists"] = status.kind == base::FileStatus::Kind::folder;
    std::string problem;
    if (status.kind == base::FileStatus::Kind::folder)
        problem = base::why_not_trusted(settings.folder);
    else if (status.kind != base::FileStatus::Kind::missing)
        problem = "it is no folder";
    if (!problem.empty()) facts["problem"] = "not used: " + problem;
    problem.clear();
    const std::vector<cache::FoundFile> files = cache::files_in(settings.folder, problem);
    size_t entries = 0, temporaries = 0;
    uint64_t bytes = 0, temporary_bytes = 0;
    for (const cache::FoundFile& file : files) {
        ++(file.temporary ? temporaries : entries);
        (file.temporary ? temporary_bytes : bytes) += file.bytes;
    }
    facts["entries"] = entries;
    facts["bytes"] = bytes;
    facts["temporaries"] = temporaries;
    facts["temporary_bytes"] = temporary_bytes;
    for (const auto& [name, build] : builds_in(settings.folder, files))
        facts["modules"].push_back(
            {{"build", name}, {"entries", build.entries}, {"bytes", build.bytes}, {"last_used", build.used_ns / kSecond}});
    return facts;
}

void add_cache(const Command& app, Run& run) {
    const Command command = app.subcommand("cache", "Show, check or empty the cache of compiled kernels");
    command.needs_subcommand();
    command.footer("Examples:\n  backplane cache info\n  backplane cache verify --repair\n  backplane cache clear");
    auto choice = std::make_shared<DeviceChoice>();
    auto repair = std::make_shared<bool>(false);
    auto add = [&](const char* name, const char* help) {
        const Command sub = command.subcommand(name, help);
        sub.option("--cache", choice->cache,
                   "Folder; without it: BACKPLANE_CACHE_DIR, else backplane/kernels in your cache folder")
            .type("DIR");
        add_json_option(sub, run);
        return sub;
    };
    const Command info_command = add("info", "Where it is, how large, and what is in it");
    info_command.footer("Examples:\n  backplane cache info\n  backplane cache info --cache ./kernels --json");
    info_command.runs([choice, &run] { info(*choice, run); });
    const Command clear_command = add("clear", "Remove all of it; running programs are not disturbed");
    clear_command.footer(
        "Only files of the cache are removed, and the folder when nothing else is in it.\nExample:\n  backplane cache "
        "clear");
    clear_command.runs([choice, &run] { clear(*choice, run); });
    const Command verify_command = add("verify", "Read every entry and report the bad ones");
    verify_command.flag("--repair", *repair, "Remove them");
    verify_command.footer(
        "Exit code 1 when a bad one is left. Bad entries are never used, with or without this command.\nExamples:\n  "
        "backplane cache "
        "verify\n  backplane cache verify --repair");
    verify_command.runs([choice, repair, &run] { run.exit_code = verify(*choice, *repair, run); });
}

}  // namespace backplane::cli
