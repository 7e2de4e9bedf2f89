// Starting a program so that this process is neither told of its end by SIGCHLD nor meets it where it waits for any child.
#pragma once

#include <sys/types.h>

namespace backplane::base {

struct UnnoticedStart {
    const char* program;
    char** arguments;
    char** variables;
    int input, output, record;  // descriptors for 0, for 1 and 2, and for 3; none of them below 4
};

// The process that stands between: it leads a group in which the program runs, and ends after it, with 0, or with the error for which the program
// could not be started. It is found by a wait for its id with kWaitForUnnoticed. -1: errno says why; ENOSYS: this system cannot. Any thread.
pid_t start_unnoticed(const UnnoticedStart& start) noexcept;

// For waitpid().
extern const int kWaitForUnnoticed;

}  // namespace backplane::base
