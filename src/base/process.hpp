// Running another program for a limited time, whatever it does.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/kept_open.hpp"

namespace backplane::base {

struct ChildOutcome {
    bool started = false;
    std::string problem;  // why it could not be started
    bool timed_out = false;
    bool cancelled = false;  // the caller's flag went up
    bool cut_short = false;  // ended from outside (SIGKILL, SIGTERM ...), or nobody knows how: tells nothing of what it did
    bool left_processes = false;  // some that it started were still there after its end, and were ended
    bool held_caller = false;     // stopped this process as a debugger does; it was ended for that, and this process goes on
    int exit_code = -1;           // -1: it did not exit by itself, or nobody knows
    int signal = 0;               // that ended it; 0: none
    std::string record;           // what it wrote to descriptor 3, at most 64 KiB
    std::string output;           // the end of what it wrote to its output and error streams, at most 4 KiB
    double seconds = 0;
    SharedKeptOpen kept_open;  // under supervision, of one that exited with code 0: what it left by keep_open()
    // Under supervision: how long it had said nothing when its time was over, without what it stood in line for a processor.
    std::chrono::milliseconds silent{};
};

// Starts `program` with `arguments` in a process group of its own, its input empty, and waits for its end, at most `limit` and only as
// long as `*cancel` (may be null) is 0; what it wrote is waited for a moment longer, then the whole group is killed. Leaves no process,
// descriptor or signal handler behind. Any thread.
ChildOutcome run_child(const std::filesystem::path& program, const std::vector<std::string>& arguments,
                       std::chrono::milliseconds limit, const std::atomic<uint32_t>* cancel = nullptr);

// Whether this process is told of the end of the one it starts, by SIGCHLD, and meets it where it waits for any child.
enum class Notice {
    as_usual,
    none  // neither, where the system can (Linux): for a library whose program knows of no children. Copies the page tables of this process
};

// The same for a program that calls supervise() first thing when its first argument is kSupervised (put before `arguments` here). `limit`
// is how long it may say nothing by write_record(), what it stands in line for a processor not counted where the system tells (Linux), so
// that a busy machine is not taken for a hang; `most` bounds the whole. Only
// what the program itself said by write_record() is in the record, how it ended is known also where the host ignores SIGCHLD or waits
// for children of everybody, and all that it started, daemons too, ends with it where the system can (Linux, Windows).
ChildOutcome run_supervised(const std::filesystem::path& program, const std::vector<std::string>& arguments,
                            std::chrono::milliseconds limit, std::chrono::milliseconds most,
                            const std::atomic<uint32_t>* cancel = nullptr, Notice notice = Notice::as_usual);

inline constexpr const char* kSupervised = "--supervised";

// For the child, before it has a second thread. POSIX: makes two processes of this one. The call returns in the one that works; the other
// watches it, passes on what it says with the host's secret, ends what it leaves behind, and never returns. False, in one process: there
// is no host that expects it. Windows: takes the host's secret; a job object does the rest.
bool supervise() noexcept;

// "segmentation fault (signal 11)"
std::string name_of_signal(int number);

// For the child: no core files, ends with its parent and after `seconds` of computing.
void limit_this_process(unsigned seconds) noexcept;

// Writes lines to descriptor 3, as this program's own under supervision; false when nobody reads them.
bool write_record(const std::string& text) noexcept;

// Ends the process now, without destructors of its own or of anybody's libraries.
[[noreturn]] void leave_process(int exit_code) noexcept;

}  // namespace backplane::base
