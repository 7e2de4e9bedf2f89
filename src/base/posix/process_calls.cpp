#include "base/posix/process_calls.hpp"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <string>

extern char** environ;

namespace backplane::base {

bool open_pipe(std::array<int, 2>& ends) noexcept { return ::pipe2(ends.data(), O_CLOEXEC) == 0; }

char** inherited_variables() noexcept { return environ; }

short spawn_flags_of_this_system() noexcept { return 0; }

const char* words_for_signal(int number) noexcept { return ::sigdescr_np(number); }

std::string processors_allowed() {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (::sched_getaffinity(0, sizeof set, &set) != 0) return {};
    return {reinterpret_cast<const char*>(&set), sizeof set};
}

void allow_processors(const std::string& processors) noexcept {
    cpu_set_t set;
    if (processors.size() != sizeof set) return;
    std::memcpy(&set, processors.data(), sizeof set);
    ::sched_setaffinity(0, sizeof set, &set);
}

void end_with_parent() noexcept { ::prctl(PR_SET_PDEATHSIG, SIGKILL); }

void adopt_orphans() noexcept {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    ::prctl(PR_SET_DUMPABLE, 0);
}

// proc(5): the list is there when the kernel was built with CONFIG_PROC_CHILDREN, as those of distributions are.
void kill_children() noexcept {
    const std::string list = "/proc/self/task/" + std::to_string(::getpid()) + "/children";
    const int file = ::open(list.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    std::array<char, 4096> text{};
    const ssize_t n = ::read(file, text.data(), text.size() - 1);  // more: at the next call
    ::close(file);
    char* at = text.data();
    for (ssize_t left = n; left > 0;) {
        char* end = nullptr;
        const long child = std::strtol(at, &end, 10);
        if (end == at || *end != ' ') break;  // the last one may be cut
        if (child > 1) ::kill(static_cast<pid_t>(child), SIGKILL);
        left -= end + 1 - at;
        at = end + 1;
    }
}

}  // namespace backplane::base
