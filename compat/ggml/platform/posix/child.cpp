#include "platform/child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <string_view>
#include <system_error>

#include "base/environment.hpp"

extern char** environ;

namespace backplane::compat {

namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMostRecord = 64 * 1024;
constexpr int kRecord = 3;
constexpr int kSignals = 64;

class Pipe {
public:
    Pipe() {
        if (::pipe2(ends_.data(), O_CLOEXEC) != 0) ends_ = {-1, -1};
    }
    ~Pipe() {
        close(0);
        close(1);
    }
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;
    [[nodiscard]] int reading() const { return ends_[0]; }
    [[nodiscard]] int writing() const { return ends_[1]; }
    void close(size_t end) {
        if (ends_.at(end) >= 0) ::close(ends_.at(end));
        ends_.at(end) = -1;
    }
    // What is there by now; closes at the end. Keeps the first `most` bytes.
    void drain(std::string& into, size_t most) {
        ::fcntl(reading(), F_SETFL, O_NONBLOCK);
        std::array<char, 4096> block{};
        while (reading() >= 0) {
            const ssize_t n = ::read(reading(), block.data(), block.size());
            if (n < 0 && errno == EINTR) continue;
            if (n < 0 && errno == EAGAIN) return;
            if (n <= 0) return close(0);
            into.append(block.data(), std::min(static_cast<size_t>(n), most - std::min(most, into.size())));
        }
    }

private:
    std::array<int, 2> ends_{-1, -1};
};

// What the watcher says: the error of starting, or the status of waitpid().
struct Word {
    int error = 0;
    int status = 0;
};

struct Start {
    const char* program;
    char** arguments;
    char** variables;
    pid_t host;
    int input, output, record, word;
};

[[noreturn]] void tell(int descriptor, const Word& word) {
    static_cast<void>(::write(descriptor, &word, sizeof word) < 0);
    ::_exit(0);
}

// The watcher: a copy of this process that starts the probe, waits for it and says how it ended. Other threads of the host may have held
// any lock when it was made, so it calls the kernel and nothing else.
[[noreturn]] void watch(const Start& start) {
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != start.host) ::_exit(0);
    for (int s = 1; s <= kSignals; ++s) ::signal(s, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    // Out of the way of 0 to 3 first: any of the pipes may have landed there.
    const int word = ::fcntl(start.word, F_DUPFD_CLOEXEC, 4);
    const std::array<int, 4> from{start.input, start.output, start.output, start.record};
    std::array<int, 4> kept{};
    for (size_t i = 0; i < from.size(); ++i) kept[i] = ::fcntl(from[i], F_DUPFD_CLOEXEC, 4);
    if (word < 0 || *std::min_element(kept.begin(), kept.end()) < 0) tell(start.word, {errno, 0});
    for (size_t i = 0; i < kept.size(); ++i)
        if (::dup2(kept[i], static_cast<int>(i)) < 0) tell(word, {errno, 0});
    volatile int error = 0;  // shared with the child until it has become the probe
    const pid_t child = ::vfork();
    if (child == 0) {
        ::execve(start.program, start.arguments, start.variables);
        error = errno;
        ::_exit(127);
    }
    if (child < 0) tell(word, {errno, 0});
    for (int i = 0; i <= kRecord; ++i) ::close(i);  // or the host would not see the ends of these pipes
    for (const int copy : kept) ::close(copy);
    Word answer;
    while (::waitpid(child, &answer.status, 0) < 0 && errno == EINTR) {
    }
    answer.error = error;
    tell(word, answer);
}

struct Pipes {
    Pipe input, output, record, word;
    [[nodiscard]] bool good() const {
        return input.reading() >= 0 && output.reading() >= 0 && record.reading() >= 0 && word.reading() >= 0;
    }
};

// The watcher has no exit signal: nobody is told that it ended, and only who waits for it by name, with __WALL, finds it.
pid_t start_watcher(const std::filesystem::path& program, const std::vector<std::string>& arguments, const Pipes& pipes) {
    std::vector<std::string> words{program.string()};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    std::string quiet = "GGML_NO_BACKTRACE=1";  // an assertion that fails would start a debugger
    std::vector<char*> variables;
    for (char** v = environ; v != nullptr && *v != nullptr; ++v) variables.push_back(*v);
    variables.push_back(quiet.data());
    variables.push_back(nullptr);
    const Start start{words[0].c_str(),       argv.data(),
                      variables.data(),       ::getpid(),
                      pipes.input.reading(),  pipes.output.writing(),
                      pipes.record.writing(), pipes.word.writing()};
    // Signals of the host must not run its handlers in the copy.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    auto watcher = static_cast<pid_t>(::syscall(SYS_clone, 0, 0, 0, 0, 0));
    if (watcher < 0 && errno == EINVAL)  // emulators know children with SIGCHLD only
        watcher = static_cast<pid_t>(::syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
    if (watcher == 0) watch(start);
    const int error = errno;
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    errno = error;
    return watcher;
}

void read_until_told(Pipes& pipes, std::string& record, std::string& word, Clock::time_point deadline) {
    std::string printed;
    while (pipes.word.reading() >= 0 && word.size() < sizeof(Word)) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
        if (left <= 0) return;
        std::array<pollfd, 3> ends{pollfd{pipes.output.reading(), POLLIN, 0}, pollfd{pipes.record.reading(), POLLIN, 0},
                                   pollfd{pipes.word.reading(), POLLIN, 0}};
        if (::poll(ends.data(), ends.size(), static_cast<int>(std::min<int64_t>(left, 1000))) < 0 && errno != EINTR) return;
        if (ends[0].revents != 0) pipes.output.drain(printed, 0);
        if (ends[1].revents != 0) pipes.record.drain(record, kMostRecord);
        if (ends[2].revents != 0) pipes.word.drain(word, sizeof(Word));
    }
    pipes.record.drain(record, kMostRecord);  // a process that it left behind may hold the pipe: its end is not waited for
}

uint64_t number_in(const char* file, std::string_view field) {
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);)
        if (line.starts_with(field)) return std::strtoull(line.c_str() + field.size(), nullptr, 10);
    return 0;
}

}  // namespace

Trial run_trial(const std::filesystem::path& program, const std::vector<std::string>& arguments,
                std::chrono::milliseconds limit) {
    Trial trial;
    Pipes pipes;
    if (!pipes.good()) {
        trial.problem = "no pipe: " + std::generic_category().message(errno);
        return trial;
    }
    pipes.input.close(1);  // its input is at its end
    const Clock::time_point deadline = Clock::now() + limit;
    const pid_t watcher = start_watcher(program, arguments, pipes);
    if (watcher < 0) {
        trial.problem = "no process: " + std::generic_category().message(errno);
        return trial;
    }
    pipes.input.close(0);
    for (Pipe* pipe : {&pipes.output, &pipes.record, &pipes.word}) pipe->close(1);
    std::string word;
    read_until_told(pipes, trial.record, word, deadline);
    ::kill(-watcher, SIGKILL);  // what it started, too
    ::kill(watcher, SIGKILL);
    int status = 0;
    while (::waitpid(watcher, &status, __WALL) < 0 && errno == EINTR) {
    }
    trial.end = Trial::End::lost;
    Word answer;
    if (word.size() == sizeof answer) {
        std::copy(word.begin(), word.end(), reinterpret_cast<char*>(&answer));
        trial.end = answer.error != 0            ? Trial::End::not_started
                    : WIFSIGNALED(answer.status) ? Trial::End::signalled
                                                 : Trial::End::exited;
        trial.code = WIFSIGNALED(answer.status) ? WTERMSIG(answer.status) : WEXITSTATUS(answer.status);
        if (answer.error != 0) trial.problem = program.string() + ": " + std::generic_category().message(answer.error);
    } else if (Clock::now() >= deadline) {
        trial.end = Trial::End::timed_out;
    }
    return trial;
}

// A filter that was there when this process was made has let its parent make it: who has as many filters as its parent has the same. The
// first process of a container was started under the filter of a runtime, which refuses and does not kill.
std::string why_no_children() {
    if (base::environment("BACKPLANE_PROBE").value_or("") == "always") return {};
    if (number_in("/proc/self/status", "Seccomp:") == 0 || ::getpid() == 1) return {};
    const uint64_t own = number_in("/proc/self/status", "Seccomp_filters:");
    const std::string parent = "/proc/" + std::to_string(::getppid()) + "/status";
    if (own != 0 && number_in(parent.c_str(), "Seccomp_filters:") == own) return {};
    return "this process has a seccomp filter of its own, which may end it for starting another (BACKPLANE_PROBE=always "
           "tries all the same)";
}

bool is_crash(int signal) {
    constexpr std::array kOwn{SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGSYS, SIGTRAP, SIGXCPU, SIGXFSZ, SIGSTKFLT};
    return std::find(kOwn.begin(), kOwn.end(), signal) != kOwn.end();
}

void at_fork(void (*before)(), void (*after)(), void (*re_make)()) { ::pthread_atfork(before, after, re_make); }

}  // namespace backplane::compat
