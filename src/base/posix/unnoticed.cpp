#include "base/posix/unnoticed.hpp"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/posix/process_calls.hpp"

namespace backplane::base {

namespace {

constexpr int kSignals = 64;
constexpr int kStreams = 4;  // 0 to 2, and the record

// The pipes of this process, and of all others who start something just now: their ends would not be seen while this copy has them, too.
void close_all_but_the_streams() noexcept {
    if (::syscall(SYS_close_range, kStreams, ~0U, 0U) == 0) return;
    constexpr rlim_t kMost = 65536;
    rlimit files{};
    if (::getrlimit(RLIMIT_NOFILE, &files) != 0) files.rlim_cur = kMost;
    const int end = static_cast<int>(std::min(files.rlim_cur, kMost));
    for (int i = kStreams; i < end; ++i) ::close(i);
}

// A copy of this process that starts the program, waits for it and ends. Other threads may have held any lock when it was made, so it calls
// the kernel and nothing else.
[[noreturn]] void stand_between(const UnnoticedStart& start, pid_t host) noexcept {
    ::setpgid(0, 0);
    end_with_parent();
    if (::getppid() != host) ::_exit(0);
    for (int s = 1; s <= kSignals; ++s) ::signal(s, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    const std::array<int, kStreams> streams{start.input, start.output, start.output, start.record};
    for (int i = 0; i < kStreams; ++i)
        if (::dup2(streams.at(static_cast<size_t>(i)), i) < 0) ::_exit(errno);
    close_all_but_the_streams();
    volatile int error = 0;  // shared with the child until it has become the program
    const pid_t child = ::vfork();
    if (child == 0) {
        ::execve(start.program, start.arguments, start.variables);
        error = errno;
        ::_exit(127);
    }
    if (child < 0) ::_exit(errno);
    for (int i = 0; i < kStreams; ++i) ::close(i);  // or nobody would see their ends
    while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
    ::_exit(error);
}

}  // namespace

const int kWaitForUnnoticed = __WALL;

pid_t start_unnoticed(const UnnoticedStart& start) noexcept {
    // Signals of the host must not run its handlers in the copy.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    const pid_t host = ::getpid();
    auto child = static_cast<pid_t>(::syscall(SYS_clone, 0, 0, 0, 0, 0));  // no signal at its end
    if (child < 0 && errno == EINVAL)                                      // emulators know children with SIGCHLD only
        child = static_cast<pid_t>(::syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
    if (child == 0) stand_between(start, host);
    const int error = child < 0 ? errno : 0;
    if (child > 0) ::setpgid(child, child);  // whoever of the two comes first
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    errno = error;
    return child;
}

}  // namespace backplane::base
