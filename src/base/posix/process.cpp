#include "base/process.hpp"

#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <optional>
#include <system_error>
#include <thread>

#include "base/posix/files_passed.hpp"
#include "base/posix/pipe.hpp"
#include "base/posix/processor_wait.hpp"
#include "base/posix/unnoticed.hpp"
#include "base/process_record.hpp"

namespace backplane::base {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kDrain{
    50};  // what a child wrote before its end is there; what others that hold its pipes write is not waited for
constexpr milliseconds kLook{20};  // between looks at what no pipe tells: a flag, the end of a child whose pipes others hold
constexpr milliseconds kLastWords{1000};  // for a supervisor to end what it watches

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

int start(const std::filesystem::path& program, std::vector<std::string> arguments, const Pipe& input, const Pipe& output,
          const Pipe& record, Notice notice, pid_t& child) {
    arguments.insert(arguments.begin(), program.string());
    std::vector<char*> argv;
    for (std::string& word : arguments) argv.push_back(word.data());
    argv.push_back(nullptr);
    if (notice == Notice::none) {
        child = start_unnoticed(
            {program.c_str(), argv.data(), inherited_variables(), input.reading(), output.writing(), record.writing()});
        if (child > 0 || errno != ENOSYS) return child > 0 ? 0 : errno;
    }
    Spawn spawn;
    posix_spawn_file_actions_adddup2(&spawn.actions, input.reading(), STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&spawn.actions, output.writing(), STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&spawn.actions, output.writing(), STDERR_FILENO);
    posix_spawn_file_actions_adddup2(&spawn.actions, record.writing(), kRecordStream);
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
    return ::posix_spawn(&child, program.c_str(), &spawn.actions, &spawn.attributes, argv.data(), inherited_variables());
}

// A child while it runs, and what becomes of it.
class Child {
public:
    Child(milliseconds limit, milliseconds most, const std::atomic<uint32_t>* cancel, const std::string& secret,
          Notice notice)
        : limit_(limit),
          started_(Clock::now()),
          last_(started_ + most),
          deadline_(std::min(started_ + limit, last_)),
          cancel_(cancel),
          supervised_(!secret.empty()),
          notice_(notice),
          reader_(secret),
          input_(supervised_ ? Pipe::Kind::sockets : Pipe::Kind::pipe) {}

    // `words`: what its input holds. False: `outcome.problem` says why.
    bool start(const std::filesystem::path& program, const std::vector<std::string>& arguments, std::string_view words) {
        if (const int error = input_.error() + output_.error() + record_.error(); error != 0)
            return fail("no pipe", input_.error() != 0 ? input_.error() : output_.error() != 0 ? output_.error() : error);
        // Before it is started: writing to a pipe that nobody reads would be a signal to the host.
        if (!write_all(input_.writing(), words)) return fail("no pipe", errno);
        if (!supervised_) input_.close_write();
        if (const int error = base::start(program, arguments, input_, output_, record_, notice_, child_); error != 0)
            return fail("it could not be started", error);
        outcome.started = true;
        input_.close_read();
        output_.close_write();
        record_.close_write();
        return true;
    }

    void watch() {
        while (!ended() && !stopped()) wait(deadline_);
        if (!ended()) end_it();
        const Clock::time_point until = Clock::now() + kDrain;
        while ((output_.reading() >= 0 || record_.reading() >= 0) && Clock::now() < until && wait(until)) {
        }
        ::kill(-child_, SIGKILL);  // what it started, too
        reap();
        if (supervised_)
            take_last_words();
        else
            take_status();
        outcome.seconds = std::chrono::duration<double>(ended_at_ - started_).count();
    }

    ChildOutcome outcome;

private:
    bool fail(const char* what, int error) {
        outcome.problem = std::string(what) + ": " + std::generic_category().message(error);
        return false;
    }

    // Of the child itself: a supervisor alone holds its record's end, so that this needs no wait(), which others may have called.
    bool ended() {
        if (!gone_ && (supervised_ ? record_.reading() < 0 : is_reaped())) {
            gone_ = true;
            ended_at_ = Clock::now();
        }
        return gone_;
    }

    bool is_reaped() {
        if (!status_ && !lost_) {
            int status = 0;
            const pid_t done = ::waitpid(child_, &status, WNOHANG | kWaitForUnnoticed);
            if (done == child_) status_ = status;
            lost_ = done < 0 && errno != EINTR;  // a host that ignores SIGCHLD, or waits for any child, has taken it
        }
        return status_ || lost_;
    }

    bool stopped() {
        if (cancel_ != nullptr && cancel_->load() != 0) outcome.cancelled = true;
        if (worker_ > 0) {  // in line for a processor it can say nothing
            stood_ += in_line_.of(worker_);
            deadline_ = std::min(spoke_ + limit_ + std::chrono::duration_cast<Clock::duration>(stood_), last_);
        }
        if (!outcome.cancelled && Clock::now() >= deadline_) {
            outcome.timed_out = true;
            outcome.silent = std::max(milliseconds(0), std::chrono::ceil<milliseconds>(Clock::now() - spoke_ - stood_));
        }
        return outcome.cancelled || outcome.timed_out;
    }

    // A supervisor ends what it watches when nobody holds the other end of its input, also when this process is no more.
    void end_it() {
        input_.close_write();
        const Clock::time_point until = Clock::now() + (supervised_ ? kLastWords : milliseconds(0));
        while (!ended() && Clock::now() < until) wait(until);
        ended_at_ = Clock::now();
        if (!supervised_ || !ended()) ::kill(-child_, SIGKILL);
        gone_ = true;
    }

    // For output, an end, or a moment. False: nothing came.
    bool wait(Clock::time_point until) {
        if (output_.reading() < 0 && record_.reading() < 0) {  // it is gone or about to be, unless it closed them itself
            std::this_thread::sleep_for(std::chrono::microseconds(200));
            return false;
        }
        const auto left = std::chrono::ceil<milliseconds>(until - Clock::now());
        const auto most = supervised_ && cancel_ == nullptr ? milliseconds(1000) : kLook;
        std::array<pollfd, 2> ends{pollfd{output_.reading(), POLLIN, 0}, pollfd{record_.reading(), POLLIN, 0}};
        if (::poll(ends.data(), ends.size(), static_cast<int>(std::clamp(left, milliseconds(0), most).count())) <= 0)
            return false;
        if (ends[0].revents != 0) {
            outcome.output += output_.drain();
            if (outcome.output.size() > kMostOutput) outcome.output.erase(0, outcome.output.size() - kMostOutput);
        }
        if (ends[1].revents != 0) {
            const std::string bytes = record_.drain();
            const std::string lines = supervised_ ? reader_.take(bytes) : bytes;
            outcome.record += lines;
            if (supervised_ && !lines.empty()) {
                spoke_ = Clock::now();
                stood_ = {};
                deadline_ = std::min(spoke_ + limit_, last_);
                if (lines.starts_with(kWorker)) worker_ = number(std::string_view(lines).substr(kWorker.size()));
            }
            if (!supervised_ && outcome.record.size() > kMostRecord) outcome.record.resize(kMostRecord);
        }
        return true;
    }

    // It has been killed or is about to be gone.
    void reap() {
        while (!is_reaped()) std::this_thread::sleep_for(std::chrono::microseconds(200));
    }

    void take_status() {
        if (!status_ || outcome.timed_out || outcome.cancelled) return;
        if (WIFEXITED(*status_)) outcome.exit_code = WEXITSTATUS(*status_);
        if (WIFSIGNALED(*status_)) outcome.signal = WTERMSIG(*status_);
        outcome.cut_short = comes_from_outside(outcome.signal);
    }

    // Takes its own lines out of the record; those of the half that works begin with "said ".
    void take_last_words() {
        std::string said;
        bool told = false;
        int worker = 0;
        for (size_t at = 0; at < outcome.record.size();) {
            const size_t end = std::min(outcome.record.find('\n', at), outcome.record.size());
            const std::string_view line = std::string_view(outcome.record).substr(at, end - at);
            at = end + 1;
            if (line.starts_with(kSaid)) said.append(line.substr(kSaid.size())).append("\n");
            if (line.starts_with(kWorker)) worker = number(line.substr(kWorker.size()));
            if (line.starts_with(kExited)) told = true, outcome.exit_code = number(line.substr(kExited.size()));
            if (line.starts_with(kSignalled)) told = true, outcome.signal = number(line.substr(kSignalled.size()));
            if (line.starts_with(kProblem)) outcome.problem = line.substr(kProblem.size());
            if (line == kLeft) outcome.left_processes = true;
            if (line == kHeld) outcome.held_caller = true;
        }
        outcome.record = std::move(said);
        if (!told && worker == 0 && notice_ == Notice::none && status_ && WIFEXITED(*status_) && WEXITSTATUS(*status_) != 0)
            outcome.problem = "it could not be started: " + std::generic_category().message(WEXITSTATUS(*status_));
        if (!told && worker > 1) ::kill(-worker, SIGKILL);  // it was ended before it could
        outcome.started = outcome.problem.empty();
        outcome.cut_short = !outcome.held_caller && (!told || comes_from_outside(outcome.signal));
        if (outcome.held_caller) outcome.timed_out = false;  // its clock ran on while this process stood still
        if (!outcome.timed_out && !outcome.cancelled) {
            if (outcome.started && outcome.exit_code == 0) outcome.kept_open = receive_files(input_.writing());
            return;
        }
        outcome.cut_short = false;
        outcome.exit_code = -1;
        outcome.signal = 0;
    }

    static int number(std::string_view text) {
        int value = 0;
        std::from_chars(text.data(), text.data() + text.size(), value);
        return value;
    }

    // What no fault of the program itself raises: a shell, a service manager, the kernel short of memory.
    static bool comes_from_outside(int number) {
        return number == SIGKILL || number == SIGTERM || number == SIGINT || number == SIGHUP || number == SIGQUIT;
    }

    milliseconds limit_;
    Clock::time_point started_, last_, deadline_, spoke_ = started_, ended_at_;
    const std::atomic<uint32_t>* cancel_;
    bool supervised_;
    Notice notice_;
    RecordReader reader_;
    Pipe input_, output_, record_;
    pid_t child_ = -1;
    pid_t worker_ = 0;  // of a supervised one the half that works, once it is told
    ProcessorWait in_line_{started_};
    std::chrono::nanoseconds stood_{};  // in line, since it spoke
    std::optional<int> status_;
    bool lost_ = false, gone_ = false;
};

}  // namespace

ChildOutcome run_child(const std::filesystem::path& program, const std::vector<std::string>& arguments, milliseconds limit,
                       const std::atomic<uint32_t>* cancel) {
    Child child(limit, limit, cancel, {}, Notice::as_usual);
    if (child.start(program, arguments, {})) child.watch();
    return std::move(child.outcome);
}

ChildOutcome run_supervised(const std::filesystem::path& program, const std::vector<std::string>& arguments,
                            milliseconds limit, milliseconds most, const std::atomic<uint32_t>* cancel, Notice notice) {
    std::string secret;
    std::string input;
    try {
        secret = make_secret();
        input = secret + " " + make_secret() + " " + std::to_string(::getpid()) + "\n";
    } catch (const std::exception& error) {
        ChildOutcome none;
        none.problem = std::string("no random number to be had: ") + error.what();
        return none;
    }
    std::vector<std::string> words{kSupervised};
    words.insert(words.end(), arguments.begin(), arguments.end());
    Child child(limit, most, cancel, secret, notice);
    if (child.start(program, words, input)) child.watch();
    return std::move(child.outcome);
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
    const std::string secret = kept_secret();
    return write_all(kRecordStream, secret.empty() ? text : signed_lines(secret, text));
}

void leave_process(int exit_code) noexcept { ::_exit(exit_code); }

}  // namespace backplane::base
