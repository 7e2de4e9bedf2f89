#include "base/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <thread>

#include "base/posix/process_calls.hpp"

namespace backplane::base {

namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMostRecord = 64 * 1024;
constexpr size_t kMostOutput = 4 * 1024;
constexpr int kRecord = 3;

class Pipe {
public:
    Pipe() {
        std::array<int, 2> ends{-1, -1};
        if (open_pipe(ends)) {
            read_ = ends[0];
            write_ = ends[1];
            ::fcntl(read_, F_SETFL, O_NONBLOCK);
        }
    }
    ~Pipe() {
        close_read();
        close_write();
    }
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;
    [[nodiscard]] int reading() const { return read_; }
    [[nodiscard]] int writing() const { return write_; }
    void close_read() { close_end(read_); }
    void close_write() { close_end(write_); }

    // Takes what is there; closes at the end. Keeps the last `most` bytes, or with `first` the first.
    void drain(std::string& into, size_t most, bool first) {
        std::array<char, 4096> block{};
        for (;;) {
            const ssize_t n = ::read(read_, block.data(), block.size());
            if (n < 0 && errno == EINTR) continue;
            if (n < 0 && errno == EAGAIN) return;
            if (n <= 0) return close_read();
            into.append(block.data(), static_cast<size_t>(n));
            if (into.size() > most) first ? into.resize(most) : void(into.erase(0, into.size() - most));
        }
    }

private:
    static void close_end(int& end) {
        if (end >= 0) ::close(end);
        end = -1;
    }
    int read_ = -1, write_ = -1;
};

// posix_spawn with everything it may need undone.
class Spawn {
public:
    Spawn() {
        posix_spawn_file_actions_init(&actions);
        posix_spawnattr_init(&attributes);
    }
    ~Spawn() {
        posix_spawn_file_actions_destroy(&actions);
        posix_spawnattr_destroy(&attributes);
    }
    Spawn(const Spawn&) = delete;
    Spawn& operator=(const Spawn&) = delete;
    posix_spawn_file_actions_t actions{};
    posix_spawnattr_t attributes{};
};

int start(const std::filesystem::path& program, const std::vector<std::string>& arguments, const Pipe& output,
          const Pipe& record, pid_t& child) {
    Spawn spawn;
    posix_spawn_file_actions_addopen(&spawn.actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&spawn.actions, output.writing(), STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&spawn.actions, output.writing(), STDERR_FILENO);
    posix_spawn_file_actions_adddup2(&spawn.actions, record.writing(), kRecord);
    // The host's signal mask and ignored signals are its own affair.
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&spawn.attributes, &none);
    posix_spawnattr_setsigdefault(&spawn.attributes, &all);
    posix_spawnattr_setpgroup(&spawn.attributes, 0);
    posix_spawnattr_setflags(&spawn.attributes, static_cast<short>(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                                                   POSIX_SPAWN_SETSIGDEF | spawn_flags_of_this_system()));
    std::vector<std::string> words{program.string()};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    return ::posix_spawn(&child, program.c_str(), &spawn.actions, &spawn.attributes, argv.data(), inherited_variables());
}

}  // namespace

ChildOutcome run_child(const std::filesystem::path& program, const std::vector<std::string>& arguments,
                       std::chrono::milliseconds limit) {
    ChildOutcome outcome;
    Pipe output;
    Pipe record;
    // A pipe that landed on 3 would be overwritten by the one made for it.
    if (output.writing() < 0 || record.writing() < 0) {
        outcome.problem = "no pipe: " + std::generic_category().message(errno);
        return outcome;
    }
    pid_t child = -1;
    const Clock::time_point started = Clock::now();
    if (const int error = start(program, arguments, output, record, child); error != 0) {
        outcome.problem = std::generic_category().message(error);
        return outcome;
    }
    outcome.started = true;
    output.close_write();
    record.close_write();

    const Clock::time_point deadline = started + limit;
    while (output.reading() >= 0 || record.reading() >= 0) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
        if (left <= 0) break;
        std::array<pollfd, 2> ends{pollfd{output.reading(), POLLIN, 0}, pollfd{record.reading(), POLLIN, 0}};
        if (::poll(ends.data(), ends.size(), static_cast<int>(std::min<int64_t>(left, 1000))) < 0 && errno != EINTR) break;
        if (ends[0].revents != 0) output.drain(outcome.output, kMostOutput, false);
        if (ends[1].revents != 0) record.drain(outcome.record, kMostRecord, true);
    }
    // Both ends closed: it is gone or about to be, unless it closed them itself and goes on.
    int status = 0;
    pid_t done = 0;
    for (; (done = ::waitpid(child, &status, WNOHANG)) == 0 && Clock::now() < deadline;)
        std::this_thread::sleep_for(std::chrono::microseconds(200));
    outcome.timed_out = done == 0;
    ::kill(-child, SIGKILL);  // what it started, too
    if (done == 0) {
        while ((done = ::waitpid(child, &status, 0)) < 0 && errno == EINTR) {
        }
    }
    // A host that ignores SIGCHLD, or waits for any child, has taken the status: only the record can tell then.
    if (done == child && !outcome.timed_out) {
        if (WIFEXITED(status)) outcome.exit_code = WEXITSTATUS(status);
        if (WIFSIGNALED(status)) outcome.signal = WTERMSIG(status);
    }
    outcome.seconds = std::chrono::duration<double>(Clock::now() - started).count();
    return outcome;
}

std::string name_of_signal(int number) {
    const char* text = words_for_signal(number);
    std::string name = text != nullptr ? text : "a signal";
    if (!name.empty() && name[0] >= 'A' && name[0] <= 'Z') name[0] = static_cast<char>(name[0] - 'A' + 'a');
    return name + " (signal " + std::to_string(number) + ")";
}

void limit_this_process(unsigned seconds) noexcept {
    end_with_parent();
    const rlimit no_core{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    const rlimit cpu{seconds, seconds + 1};
    ::setrlimit(RLIMIT_CPU, &cpu);
}

bool write_record(const std::string& text) noexcept {
    size_t done = 0;
    while (done < text.size()) {
        const ssize_t n = ::write(kRecord, text.data() + done, text.size() - done);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        done += static_cast<size_t>(n);
    }
    return true;
}

void leave_process(int exit_code) noexcept { ::_exit(exit_code); }

}  // namespace backplane::base
