// zoo_generated [--seed N] [--count N] [--jobs N] [--only PLACE/ACT/WHO/WHEN/FILE] [--keep FOLDER] [--list] [--host FILE] [--probe FILE]
//
// Generated modules, each with a fault chosen by lot, and an application that starts on each of them again and again: it dies of a fault at
// most once. docs/testing.md, "Generated faults". ZOO_SEED and ZOO_COUNT stand for the options; without a seed it is the day's number, so that
// each day sees others. Prints its seed, for each failure a line that runs it alone, and tables; exit code 1 when there was one.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "support/system.hpp"
#include "zoo/generated/judge.hpp"
#include "zoo/generated/sample.hpp"

namespace {

using namespace zoo;
namespace fs = std::filesystem;

struct Options {
    uint64_t seed = 0;
    size_t count = 2000, jobs = 8;
    std::vector<Plan> only;
    fs::path keep, host = BP_TEST_ZOO_HOST, probe = BP_TEST_PROBE;  // the application and the probe, of another build
    bool list = false;
};

std::string variable(const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr ? value : "";
}

Options options_of(int argc, char** argv) {
    Options o;
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    o.seed = static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::hours>(now).count() / 24);
    if (const std::string seed = variable("ZOO_SEED"); !seed.empty()) o.seed = std::strtoull(seed.c_str(), nullptr, 10);
    if (const std::string count = variable("ZOO_COUNT"); !count.empty()) o.count = std::strtoull(count.c_str(), nullptr, 10);
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        const std::string value = i + 1 < argc ? argv[i + 1] : "";
        Plan plan;
        if (word == "--list") {
            o.list = true;
            continue;
        }
        if (word == "--seed")
            o.seed = std::strtoull(value.c_str(), nullptr, 10);
        else if (word == "--count")
            o.count = std::strtoull(value.c_str(), nullptr, 10);
        else if (word == "--jobs")
            o.jobs = std::max<size_t>(1, std::strtoull(value.c_str(), nullptr, 10));
        else if (word == "--keep")
            o.keep = value;
        else if (word == "--host")
            o.host = value;
        else if (word == "--probe")
            o.probe = value;
        else if (word == "--only" && read(value, plan))
            o.only.push_back(plan);
        else {
            std::fprintf(stderr,
                         "zoo_generated: '%s %s' is not an option with its value; the head of tests/zoo/generated/main.cpp "
                         "has them\n",
                         word.c_str(), value.c_str());
            std::exit(2);
        }
        ++i;
    }
    return o;
}

// The first of what is wrong; the rest follows from it more often than not, and is shown when the combination is run alone.
void print(const Outcome& outcome, uint64_t seed, size_t index) {
    if (outcome.failures.empty()) return;
    const std::string text = text_of(outcome.plan);
    std::printf(
        "FAILED seed %llu, number %zu: %s: %s%s; alone: zoo_generated --only %s\n", static_cast<unsigned long long>(seed),
        index, text.c_str(), outcome.failures.front().c_str(),
        outcome.failures.size() > 1 ? (" (and " + std::to_string(outcome.failures.size() - 1) + " more)").c_str() : "",
        text.c_str());
    std::fflush(stdout);
}

void print_starts(const Outcome& outcome) {
    for (const Start& start : outcome.starts) {
        std::printf("%s start %d: %s; the fault showed in %s%s%s; chosen %s, computed on %s\n",
                    text_of(outcome.plan).c_str(), start.number, start.died ? start.how.c_str() : "lived",
                    start.in_child ? "the trial " : "", start.in_host ? "the application" : "",
                    start.in_child || start.in_host ? "" : "neither", start.chosen.c_str(), start.computed.c_str());
        for (const Candidate& c : start.candidates)
            std::printf("    %s: %s %s %s\n", c.file.c_str(), c.verdict.c_str(), c.code.c_str(), c.reason.c_str());
        for (const auto& [what, texts] :
             {std::pair{"note", &start.notes}, std::pair{"error", &start.errors}, std::pair{"foreign", &start.foreign},
              std::pair{"wrong", &start.wrong}, std::pair{"leak", &start.leaks}})
            for (const std::string& text : *texts) std::printf("    %s: %s\n", what, text.c_str());
    }
    for (const std::string& failure : outcome.failures) std::printf("    FAILED %s\n", failure.c_str());
}

// Combinations, counted by the place or the act of their plan.
struct Counts {
    int combinations = 0, first = 0, second = 0, once_more = 0, not_met = 0, right = 0, named = 0, failed = 0;
    void add(const Outcome& o) {
        ++combinations;
        first += o.first_death ? 1 : 0;
        once_more += o.second_death_of_one_used_once_more ? 1 : 0;
        second += o.second_death ? 1 : 0;
        not_met += o.is_not_met ? 1 : 0;
        right += o.right_device ? 1 : 0;
        named += o.named ? 1 : 0;
        failed += o.failures.empty() ? 0 : 1;
    }
    void print(const char* name) const {
        std::printf("| %s | %d | %d | %d | %d | %d | %d | %d |\n", name, combinations, first, second, once_more, not_met,
                    right, named);
    }
};

void print_tables(const std::vector<Outcome>& outcomes) {
    Counts all;
    std::map<Place, Counts> by_place;
    std::map<Act, Counts> by_act;
    for (const Outcome& o : outcomes) {
        all.add(o);
        by_place[o.plan.place].add(o);
        by_act[o.plan.act].add(o);
    }
    for (const char* title : {"where", "what"}) {
        std::printf(
            "\n| %s | combinations | died at the first start | again | again, used once more | again, not met | right "
            "device | named |\n"
            "| --- | --- | --- | --- | --- | --- | --- | --- |\n",
            title);
        if (std::strcmp(title, "where") == 0)
            for (const auto& [place, counts] : by_place) counts.print(kPlaces[static_cast<size_t>(place)]);
        else
            for (const auto& [act, counts] : by_act) counts.print(kActs[static_cast<size_t>(act)]);
        all.print("all");
    }
}

std::vector<Outcome> run_all(const std::vector<Plan>& plans, const Options& options, const Programs& programs,
                             const fs::path& folder) {
    std::vector<Outcome> outcomes(plans.size());
    std::atomic<size_t> next{0};
    std::mutex printing;
    std::vector<std::thread> threads;
    for (size_t job = 0; job < options.jobs; ++job)
        threads.emplace_back([&] {
            for (size_t i = next++; i < plans.size(); i = next++) {
                const fs::path own = folder / std::to_string(i);
                Programs mine = programs;
                if (!holds_up(plans[i])) mine.limit *= 10;  // as long as a busy machine takes
                outcomes[i] = put_to_the_test(plans[i], own, mine);
                const std::lock_guard lock(printing);
                print(outcomes[i], options.seed, i);
                std::error_code ignored;  // a trial that outlived its application may still write there
                if (options.keep.empty()) fs::remove_all(own, ignored);
            }
        });
    for (std::thread& thread : threads) thread.join();
    return outcomes;
}

}  // namespace

int main(int argc, char** argv) {
    const Options options = options_of(argc, argv);
    const std::vector<Plan> plans = options.only.empty() ? sample(options.seed, options.count) : options.only;
    if (options.list) {
        for (const Plan& plan : plans) std::printf("%s\n", text_of(plan).c_str());
        return 0;
    }
    const Programs programs{options.host, options.probe, BP_TEST_ZOO_MODULES,
                            std::chrono::milliseconds(BP_TEST_PROBE_LIMIT)};
    const fs::path folder = options.keep.empty() ? backplane::test::make_temporary_folder() : fs::absolute(options.keep);
    std::printf("zoo_generated: seed %llu, %zu of %zu combinations\n", static_cast<unsigned long long>(options.seed),
                plans.size(), all_plans().size());
    const auto began = std::chrono::steady_clock::now();
    const std::vector<Outcome> outcomes = run_all(plans, options, programs, folder);
    std::error_code ignored;
    if (options.keep.empty()) fs::remove_all(folder, ignored);
    if (!options.only.empty())
        for (const Outcome& outcome : outcomes) print_starts(outcome);
    print_tables(outcomes);
    const auto failed =
        std::count_if(outcomes.begin(), outcomes.end(), [](const Outcome& o) { return !o.failures.empty(); });
    std::printf("\nzoo_generated: %zu combinations, %td failed, %.0f s (seed %llu)\n", outcomes.size(), failed,
                std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count(),
                static_cast<unsigned long long>(options.seed));
    return failed == 0 ? 0 : 1;
}
