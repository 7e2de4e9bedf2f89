#include "base/posix/process_calls.hpp"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>

extern char** environ;

namespace backplane::base {

namespace {

// A number in /proc/PROCESS/status (proc_pid_status(5)), also of a thread; 0: it is none, or the system does not tell.
pid_t number_in_status(const std::string& process, const std::string& name) {
    const int file = ::open(("/proc/" + process + "/status").c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    std::array<char, 1024> text{};  // what is asked for is among the first lines
    const ssize_t n = ::read(file, text.data(), text.size() - 1);
    ::close(file);
    const std::string lines(text.data(), n > 0 ? static_cast<size_t>(n) : 0);
    const size_t at = lines.find("\n" + name + ":");
    return at == std::string::npos ? 0 : static_cast<pid_t>(std::strtol(lines.c_str() + at + name.size() + 2, nullptr, 10));
}

bool descends_from_this(pid_t process) {
    constexpr int kMostAncestors = 1000;
    const pid_t own = ::getpid();
    for (int i = 0; i < kMostAncestors && process > 1 && process != own; ++i)
        process = number_in_status(std::to_string(process), "PPid");
    return process == own;
}

}  // namespace

bool open_pipe(std::array<int, 2>& ends) noexcept { return ::pipe2(ends.data(), O_CLOEXEC) == 0; }

bool open_sockets(std::array<int, 2>& ends) noexcept {
    return ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0;
}

const int kReceivedClosedInPrograms = MSG_CMSG_CLOEXEC;

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

bool kill_holders_of(pid_t process) {
    bool found = false;
    std::error_code failed;
    const std::string folder = "/proc/" + std::to_string(process) + "/task";
    for (std::filesystem::directory_iterator thread(folder, failed), end; !failed && thread != end;
         thread.increment(failed)) {
        const std::string name = std::to_string(process) + "/task/" + thread->path().filename().string();
        const pid_t holder = number_in_status(name, "TracerPid");
        if (holder <= 1 || !descends_from_this(holder)) continue;
        ::kill(holder, SIGKILL);
        found = true;
    }
    return found;
}

}  // namespace backplane::base
