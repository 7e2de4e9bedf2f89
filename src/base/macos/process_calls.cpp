// Written by Apple's documentation; not built or run by this project's checks yet.
// posix_spawn(2), environ(7), getppid(2), signal(3).
#include "base/posix/process_calls.hpp"

#include <crt_externs.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <system_error>
#include <thread>

namespace backplane::base {

namespace {

// A program that another thread starts between the calls inherits the ends. They are moved above the three streams and the record, since to
// give a child a descriptor under its own number would leave it marked to be closed.
bool moved_up(std::array<int, 2>& ends) noexcept {
    constexpr int kFirstOfOurs = 4;
    for (int& end : ends) {
        const int moved = ::fcntl(end, F_DUPFD_CLOEXEC, kFirstOfOurs);
        ::close(end);
        end = moved;
    }
    if (ends[0] >= 0 && ends[1] >= 0) return true;
    for (const int end : ends)
        if (end >= 0) ::close(end);
    return false;
}

}  // namespace

// There is no pipe2().
bool open_pipe(std::array<int, 2>& ends) noexcept { return ::pipe(ends.data()) == 0 && moved_up(ends); }

bool open_sockets(std::array<int, 2>& ends) noexcept {
    return ::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) == 0 && moved_up(ends);
}

const int kReceivedClosedInPrograms = 0;

// A library has no `environ` of its own.
char** inherited_variables() noexcept { return *::_NSGetEnviron(); }

// The child gets what the file actions name and nothing else.
short spawn_flags_of_this_system() noexcept { return POSIX_SPAWN_CLOEXEC_DEFAULT; }

// strsignal() adds the number and shares a buffer between threads.
const char* words_for_signal(int number) noexcept { return number > 0 && number < NSIG ? ::sys_siglist[number] : nullptr; }

// Threads are not bound to processors here.
std::string processors_allowed() { return {}; }
void allow_processors(const std::string&) noexcept {}

void end_with_parent() noexcept {
    const pid_t parent = ::getppid();
    try {
        std::thread([parent] {
            while (::getppid() == parent) std::this_thread::sleep_for(std::chrono::milliseconds(100));
            ::kill(::getpid(), SIGKILL);
        }).detach();
    } catch (const std::system_error&) {  // no thread to be had: the limit on computing time remains
    }
}

// macOS has neither: what the other half leaves in a session of its own stays.
void adopt_orphans() noexcept {}
void kill_children() noexcept {}

// The debuggers of a process are not named here.
bool kill_holders_of(pid_t) { return false; }

}  // namespace backplane::base
