// The half of a supervised program that runs nobody else's code: it alone knows the host's secret.
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <string>
#include <system_error>

#include "base/posix/files_passed.hpp"
#include "base/posix/pipe.hpp"
#include "base/process.hpp"
#include "base/process_record.hpp"

namespace backplane::base {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kHelpersEnd{50};  // for helpers of the other half that end by themselves
constexpr milliseconds kAllKilled{500};  // for what is killed to be gone

std::atomic<int> child_ended{-1};  // the writing end of a pipe: a signal handler gets no argument

void on_child_ended(int) {
    const int kept = errno;
    const char byte = 0;
    static_cast<void>(::write(child_ended.load(), &byte, 1) + 1);
    errno = kept;
}

// A line from the host, or the supervisor: "SECRET SECRET PROCESS\n" or "SECRET\n". Waits for it; empty: there is none.
std::string read_line(int from) {
    constexpr size_t kMost = 2 * kSecretLength + 32;
    std::string text;
    for (char c = 0; text.size() < kMost;) {
        const ssize_t n = ::read(from, &c, 1);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) {
            pollfd end{from, POLLIN, 0};
            ::poll(&end, 1, -1);
            continue;
        }
        if (n <= 0 || c == '\n') break;
        text += c;
    }
    return text;
}

class Supervisor {
public:
    Supervisor(std::string hosts, std::string workers, pid_t host)
        : hosts_(std::move(hosts)), said_(std::move(workers)), host_(host) {}

    void tell(const std::string& line) const { write_all(kRecordStream, signed_lines(hosts_, line)); }

    // Until the other half has ended, or the host wants it to, or cannot want anything because it is held.
    void watch(pid_t worker, Pipe& record, Pipe& ends, Pipe& files) {
        std::optional<int> status;
        bool wanted = true;
        bool held = false;
        while (!status && wanted) {
            std::array<pollfd, 3> there{pollfd{STDIN_FILENO, POLLIN, 0}, pollfd{record.reading(), POLLIN, 0},
                                        pollfd{ends.reading(), POLLIN, 0}};
            if (::poll(there.data(), there.size(), 1000) < 0 && errno != EINTR) break;
            if (there[1].revents != 0) pass_on(record);
            if (there[2].revents != 0) static_cast<void>(ends.drain());
            held = kill_holders_of(host_);
            wanted = there[0].revents == 0 && !held;  // nothing more is written there: it is its end
            status = ended(worker);
        }
        const Clock::time_point until = Clock::now() + kHelpersEnd;
        while ((status || held) && record.reading() >= 0 && Clock::now() < until) {  // what it wrote before its end
            pollfd there{record.reading(), POLLIN, 0};
            if (::poll(&there, 1, 0) <= 0) break;
            pass_on(record);
        }
        if (status && has_children_after(until)) tell(std::string(kLeft));
        if (!status) ::kill(worker, SIGKILL);
        end_all(worker);
        if (held) {
            ::kill(host_, SIGCONT);  // it may have been let go with the signal that stopped it on its way
            tell(std::string(kHeld));
        }
        if (!status) return;
        if (const SharedKeptOpen kept = receive_files(files.reading()); kept != nullptr && *status == 0)
            send_files(STDIN_FILENO, kept->files());
        if (WIFEXITED(*status)) tell(std::string(kExited) + std::to_string(WEXITSTATUS(*status)));
        if (WIFSIGNALED(*status)) tell(std::string(kSignalled) + std::to_string(WTERMSIG(*status)));
    }

private:
    void pass_on(Pipe& record) {
        std::string lines = said_.take(record.drain());
        std::string text;
        for (size_t at = 0; at < lines.size();) {
            const size_t end = lines.find('\n', at) + 1;
            text.append(kSaid).append(lines, at, end - at);
            at = end;
        }
        if (!text.empty()) tell(text);
    }

    static std::optional<int> ended(pid_t worker) {
        int status = 0;
        return ::waitpid(worker, &status, WNOHANG) == worker ? std::optional(status) : std::nullopt;
    }

    // Those that came to this process when their parent ended; reaps what has ended.
    static bool has_children() {
        pid_t done = 0;
        while ((done = ::waitpid(-1, nullptr, WNOHANG)) > 0) {
        }
        return done == 0;
    }
    static bool has_children_after(Clock::time_point until) {
        while (has_children()) {
            if (Clock::now() >= until) return true;
            ::poll(nullptr, 0, 2);
        }
        return false;
    }

    static void end_all(pid_t worker) {
        const Clock::time_point until = Clock::now() + kAllKilled;
        ::kill(-worker, SIGKILL);
        while (has_children() && Clock::now() < until) {
            kill_children();
            ::kill(-worker, SIGKILL);
            ::poll(nullptr, 0, 1);
        }
    }

    std::string hosts_;
    RecordReader said_;
    pid_t host_;  // not always the parent of this process (Notice::none)
};

// Everything of the worker's own process before it returns to its program. False: it is to end.
bool become_worker(Pipe& gate, Pipe& record, Pipe& ends, Pipe& files) {
    ::signal(SIGCHLD, SIG_DFL);
    ::signal(SIGPIPE, SIG_DFL);
    ::setsid();
    end_with_parent();
    ::dup2(gate.reading(), STDIN_FILENO);
    ::fcntl(STDIN_FILENO, F_SETFL, 0);
    ::dup2(record.writing(), kRecordStream);
    keep_open_by(::fcntl(files.writing(), F_DUPFD_CLOEXEC, kRecordStream + 1));
    for (Pipe* pipe : {&gate, &record, &ends, &files}) pipe->close_read(), pipe->close_write();
    const std::string secret = read_line(STDIN_FILENO);
    if (!is_secret(secret)) return false;  // the other half is gone already
    keep_secret(secret);
    return true;
}

}  // namespace

bool supervise() noexcept {
    try {
        Pipe gate;
        Pipe record;
        Pipe ends;
        Pipe files(Pipe::Kind::sockets);
        if (gate.error() + record.error() + ends.error() != 0) ::_exit(1);
        ::fcntl(ends.writing(), F_SETFL, O_NONBLOCK);
        child_ended = ends.writing();
        struct sigaction action {};
        action.sa_handler = on_child_ended;
        action.sa_flags = static_cast<int>(SA_RESTART | SA_NOCLDSTOP);
        ::sigaction(SIGCHLD, &action, nullptr);
        ::signal(SIGPIPE, SIG_IGN);
        const pid_t worker = ::fork();
        const int error = errno;
        if (worker == 0) {
            if (!become_worker(gate, record, ends, files)) ::_exit(1);
            return true;
        }
        adopt_orphans();
        end_with_parent();
        gate.close_read();
        record.close_write();
        files.close_write();
        const std::string words = read_line(STDIN_FILENO);
        if (words.size() < 2 * kSecretLength + 3) ::_exit(1);
        const std::string own = words.substr(0, kSecretLength);
        const std::string workers = words.substr(kSecretLength + 1, kSecretLength);
        Supervisor supervisor(own, workers, static_cast<pid_t>(std::atoi(words.c_str() + 2 * kSecretLength + 2)));
        if (worker < 0) {
            supervisor.tell(std::string(kProblem) + std::generic_category().message(error));
            ::_exit(1);
        }
        supervisor.tell(std::string(kWorker) + std::to_string(worker));
        write_all(gate.writing(), workers + "\n");
        gate.close_write();
        supervisor.watch(worker, record, ends, files);
    } catch (...) {  // no memory: without last words it is no verdict
    }
    ::_exit(0);
}

}  // namespace backplane::base
