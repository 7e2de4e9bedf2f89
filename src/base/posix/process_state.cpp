#include "base/process_state.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <clocale>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/posix/process_calls.hpp"

namespace backplane::base {

namespace {

std::string handling(int number) {
    struct sigaction action {};
    if (::sigaction(number, nullptr, &action) != 0) return {};
    std::array<char, sizeof action.sa_sigaction> handler{};  // a pointer to a function, as bytes
    std::memcpy(handler.data(), &action.sa_sigaction, handler.size());
    return std::string(handler.data(), handler.size()) + std::to_string(action.sa_flags);
}

void add_timers(ProcessState& state) {
    constexpr std::array kTimers{std::pair{ITIMER_REAL, "the alarm clock"}, std::pair{ITIMER_VIRTUAL, "the virtual timer"},
                                 std::pair{ITIMER_PROF, "the profiling timer"}};
    for (const auto& [which, name] : kTimers) {
        itimerval timer{};
        ::getitimer(which, &timer);
        const bool set = timer.it_value.tv_sec != 0 || timer.it_value.tv_usec != 0;
        state.emplace_back(name, std::to_string(static_cast<int>(set)) + " " + std::to_string(timer.it_interval.tv_sec));
    }
}

void add_limits(ProcessState& state) {
    constexpr std::array kLimits{std::pair{RLIMIT_AS, "address space"},   std::pair{RLIMIT_CORE, "core files"},
                                 std::pair{RLIMIT_CPU, "computing time"}, std::pair{RLIMIT_DATA, "data"},
                                 std::pair{RLIMIT_FSIZE, "file sizes"},   std::pair{RLIMIT_MEMLOCK, "locked memory"},
                                 std::pair{RLIMIT_NOFILE, "open files"},  std::pair{RLIMIT_NPROC, "processes"},
                                 std::pair{RLIMIT_STACK, "the stack"}};
    for (const auto& [which, name] : kLimits) {
        rlimit limit{};
        ::getrlimit(which, &limit);
        state.emplace_back(std::string("the limit of ") + name,
                           std::to_string(limit.rlim_cur) + " " + std::to_string(limit.rlim_max));
    }
}

void add_streams(ProcessState& state) {
    constexpr std::array kStreams{std::pair{STDIN_FILENO, "standard input"}, std::pair{STDOUT_FILENO, "standard output"},
                                  std::pair{STDERR_FILENO, "standard error"}};
    for (const auto& [stream, name] : kStreams) {
        struct stat status {};
        const bool open = ::fstat(stream, &status) == 0;
        state.emplace_back(name, open ? std::to_string(status.st_dev) + " " + std::to_string(status.st_ino) + " " +
                                            std::to_string(::fcntl(stream, F_GETFL))
                                      : "closed");
    }
}

void add_environment(ProcessState& state) {
    std::vector<std::string> variables;
    for (char** variable = inherited_variables(); variable != nullptr && *variable != nullptr; ++variable)
        variables.emplace_back(*variable);
    std::sort(variables.begin(), variables.end());
    std::string all;
    for (const std::string& variable : variables) all += variable + '\n';
    state.emplace_back("the environment", all);
}

std::string blocked_signals() {
    sigset_t mask;
    sigemptyset(&mask);
    ::pthread_sigmask(SIG_BLOCK, nullptr, &mask);
    std::string text;
    for (int number = 1; number < 32; ++number) text += sigismember(&mask, number) == 1 ? '1' : '0';
    return text;
}

}  // namespace

size_t threads_of_this_process() {
    std::error_code failed;
    size_t count = 0;
    for (std::filesystem::directory_iterator thread("/proc/self/task", failed), end; !failed && thread != end;
         thread.increment(failed))
        ++count;
    return count;
}

ProcessState process_state() {
    ProcessState state;
    for (int number = 1; number < 32; ++number)
        state.emplace_back("the handling of signal " + std::to_string(number), handling(number));
    std::error_code failed;
    state.emplace_back("the working directory", std::filesystem::current_path(failed).string());
    const mode_t mask = ::umask(077);
    ::umask(mask);
    state.emplace_back("the mask of new files", std::to_string(mask));
    const char* locale = std::setlocale(LC_ALL, nullptr);
    state.emplace_back("the locale", locale != nullptr ? locale : "");
    add_timers(state);
    add_limits(state);
    state.emplace_back("the processors it may run on", processors_allowed());
    state.emplace_back("the mask of signals", blocked_signals());
    state.emplace_back("the priority", std::to_string(::getpriority(PRIO_PROCESS, 0)));
    add_environment(state);
    add_streams(state);
    state.emplace_back("the rounding or flushing of floating-point numbers", std::to_string(floating_point_control()));
    return state;
}

}  // namespace backplane::base
