// Running another program for a limited time, whatever it does.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace backplane::base {

struct ChildOutcome {
    bool started = false;
    std::string problem;  // why it could not be started
    bool timed_out = false;
    int exit_code = -1;  // -1: it did not exit by itself, or nobody knows
    int signal = 0;      // that ended it; 0: none
    std::string record;  // what it wrote to descriptor 3, at most 64 KiB
    std::string output;  // the end of what it wrote to its output and error streams, at most 4 KiB
    double seconds = 0;
};

// Starts `program` with `arguments` in a process group of its own, its input empty, and waits for it and for all that hold its pipes, at most
// `limit`; then the whole group is killed. Leaves no process, descriptor or signal handler behind. Any thread.
ChildOutcome run_child(const std::filesystem::path& program, const std::vector<std::string>& arguments,
                       std::chrono::milliseconds limit);

// "segmentation fault (signal 11)"
std::string name_of_signal(int number);

// For the child: no core files, ends with its parent and after `seconds` of computing.
void limit_this_process(unsigned seconds) noexcept;

// Writes to descriptor 3; false when nobody reads it.
bool write_record(const std::string& text) noexcept;

// Ends the process now, without destructors of its own or of anybody's libraries.
[[noreturn]] void leave_process(int exit_code) noexcept;

}  // namespace backplane::base
