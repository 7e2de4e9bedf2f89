// Running the probe so that the application does not notice: no SIGCHLD, and no process that its waitpid(-1) could catch.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace backplane::compat {

struct Trial {
    enum class End {
        not_started,  // `problem` says why
        exited,       // `code`
        signalled,    // `code`: the signal that ended it
        timed_out,
        lost  // nobody can tell: whoever watched it was ended, too
    };
    End end = End::not_started;
    int code = 0;
    std::string problem;
    std::string record;  // what it wrote to descriptor 3, at most 64 KiB
};

// Runs `program` with an empty input, what it prints thrown away, in a process group of its own, at most `limit`; then the group is ended.
// Any thread; the application's signal handlers, and whether it ignores SIGCHLD, do not matter.
Trial run_trial(const std::filesystem::path& program, const std::vector<std::string>& arguments,
                std::chrono::milliseconds limit);

// Why this process must not try to start another: its seccomp filter may end it for that. Empty: it may try.
std::string why_no_children();

// A signal that says something of who got it: a fault or a limit of its own. Others were sent from outside.
bool is_crash(int signal);

// Makes `re_make` run in the child of every fork() of this process, with `before` in the parent just before and `after` just after it.
void at_fork(void (*before)(), void (*after)(), void (*re_make)());

}  // namespace backplane::compat
