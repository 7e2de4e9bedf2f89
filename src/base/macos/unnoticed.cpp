// Written by Apple's documentation; not built or run by this project's checks yet.
#include "base/posix/unnoticed.hpp"

#include <cerrno>

namespace backplane::base {

const int kWaitForUnnoticed = 0;

// Every child of a process here sends SIGCHLD.
pid_t start_unnoticed(const UnnoticedStart&) noexcept {
    errno = ENOSYS;
    return -1;
}

}  // namespace backplane::base
