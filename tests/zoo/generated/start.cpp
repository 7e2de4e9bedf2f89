#include "zoo/generated/start.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "zoo/generated/sample.hpp"

extern char** environ;

namespace zoo {

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr auto kLongest = std::chrono::seconds(60);      // of an application that does not say that it hangs
constexpr auto kGrace = std::chrono::milliseconds(100);  // of one that does

std::vector<std::string> lines_of(const fs::path& file) {
    std::vector<std::string> lines;
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
}

// "WORD rest" -> rest
std::string rest_of(const std::string& line) {
    const size_t split = line.find(' ');
    return split == std::string::npos ? std::string() : line.substr(split + 1);
}

pid_t spawn_host(const fs::path& folder, int number, const Programs& programs) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    const std::string output = folder / "output";
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    std::vector<std::string> words{programs.host, folder, std::to_string(number), programs.probe,
                                   std::to_string(programs.limit.count())};
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    std::vector<std::string> variables;
    for (char** v = environ; *v != nullptr; ++v) variables.emplace_back(*v);
    variables.push_back("ZOO_START=" + std::to_string(number));
    std::vector<char*> envp;
    for (std::string& variable : variables) envp.push_back(variable.data());
    envp.push_back(nullptr);
    pid_t pid = -1;
    const int error = ::posix_spawn(&pid, words[0].c_str(), &actions, &attributes, argv.data(), envp.data());
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    if (error != 0) throw std::runtime_error("cannot start " + words[0]);
    return pid;
}

bool says_that_it_hangs(const fs::path& folder, pid_t pid) {
    for (const std::string& line : lines_of(folder / "hangs"))
        if (line == "host " + std::to_string(pid)) return true;
    return false;
}

void wait_for(Start& outcome, pid_t pid, const fs::path& folder) {
    const Clock::time_point deadline = Clock::now() + kLongest;
    Clock::time_point end = deadline;
    int status = 0;
    for (auto pause = std::chrono::milliseconds(1);;) {
        const pid_t done = ::waitpid(pid, &status, WNOHANG | WUNTRACED);
        if (done == pid && !WIFSTOPPED(status)) break;
        const bool stopped = done == pid;
        if (end == deadline && (stopped || says_that_it_hangs(folder, pid))) end = std::min(end, Clock::now() + kGrace);
        if (Clock::now() >= end) {
            outcome.hung = true;
            ::kill(pid, SIGKILL);
            ::waitpid(pid, &status, 0);
            break;
        }
        std::this_thread::sleep_for(pause);
        pause = std::min(pause * 2, std::chrono::milliseconds(10));
    }
    outcome.died = outcome.hung || !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    if (outcome.hung)
        outcome.how = "hung";
    else if (WIFSIGNALED(status))
        outcome.how = "signal " + std::to_string(WTERMSIG(status));
    else
        outcome.how = "exit code " + std::to_string(WEXITSTATUS(status));
}

void read_result(Start& outcome, const fs::path& folder) {
    bool complete = false;
    for (const std::string& line : lines_of(folder / ("result." + std::to_string(outcome.number)))) {
        const std::string word = line.substr(0, line.find(' '));
        const std::map<std::string, std::vector<std::string>*> lists{
            {"wrong", &outcome.wrong}, {"error", &outcome.errors},  {"foreign", &outcome.foreign},
            {"note", &outcome.notes},  {"warning", &outcome.notes}, {"leak", &outcome.leaks}};
        if (const auto list = lists.find(word); list != lists.end()) list->second->push_back(rest_of(line));
        if (word == "chosen") outcome.chosen = rest_of(line);
        if (word == "computed") outcome.computed = rest_of(line);
        if (word == "steady") outcome.steady = true;
        if (word == "end") complete = true;
        if (word == "candidate") {
            std::istringstream words(rest_of(line));
            Candidate c;
            words >> c.file >> c.verdict >> c.code;
            std::getline(words >> std::ws, c.reason);
            outcome.candidates.push_back(std::move(c));
        }
    }
    if (!complete && !outcome.died) {
        outcome.died = true;
        outcome.how += " before its end";
    }
}

bool lives(int pid) {
    const std::vector<std::string> name = lines_of("/proc/" + std::to_string(pid) + "/comm");
    const std::vector<std::string> status = lines_of("/proc/" + std::to_string(pid) + "/stat");
    const bool zombie = !status.empty() && status[0].find(") Z ") != std::string::npos;
    return !name.empty() && name[0] == "zoo-left" && !zombie;
}

// Ends what the module left behind, and tells what of it should have been ended with the trial.
void sweep(Start& outcome, const fs::path& folder) {
    for (const std::string& line : lines_of(folder / "left")) {
        const int pid = std::atoi(rest_of(line).c_str());
        const bool of_the_trial = line.rfind("child", 0) == 0;
        for (int i = 0; of_the_trial && i < 3000 && lives(pid); ++i)  // what was killed takes its time to go
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        if (!lives(pid)) continue;
        if (of_the_trial) outcome.survivors.push_back(line);
        ::kill(pid, SIGKILL);
    }
    fs::remove(folder / "left");
}

}  // namespace

void lay_out(const fs::path& folder, const Plan& plan, const Programs& programs) {
    fs::create_directories(folder / "modules");
    const std::string faulty = plan.unloadable ? "unloadable" : "kept";
    fs::copy_file(programs.modules / ("backplane-" + faulty + ".so"), folder / "modules/backplane-faulty.so");
    for (const char* good : {"backplane-minimal.so", "backplane-steady.so"})
        fs::copy_file(programs.modules / good, folder / "modules" / good);
    std::ofstream(folder / "plan") << text_of(plan);
}

Start start(const fs::path& folder, int number, const Programs& programs) {
    Start outcome;
    outcome.number = number;
    wait_for(outcome, spawn_host(folder, number, programs), folder);
    read_result(outcome, folder);
    sweep(outcome, folder);
    for (const std::string& line : lines_of(folder / "fired")) {
        outcome.in_child = outcome.in_child || line == "child " + std::to_string(number);
        outcome.in_host = outcome.in_host || line == "host " + std::to_string(number);
    }
    return outcome;
}

}  // namespace zoo
