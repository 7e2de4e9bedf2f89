#include "base/posix/processor_wait.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

namespace backplane::base {

namespace fs = std::filesystem;
using std::chrono::nanoseconds;

namespace {

// Of /proc/PID/task/TID/status, lines like "State:	R (running)".
void read_state(const fs::path& task, bool& wants_to_run, uint64_t& slept) {
    std::ifstream file(task / "status");
    for (std::string name, value; file >> name >> value; std::getline(file, value)) {
        if (name == "State:") wants_to_run = value == "R";
        if (name == "voluntary_ctxt_switches:") std::from_chars(value.data(), value.data() + value.size(), slept);
    }
}

}  // namespace

nanoseconds ProcessorWait::of(pid_t process) {
    constexpr std::chrono::milliseconds kLeast{100};
    const Clock::time_point now = Clock::now();
    const nanoseconds between = now - looked_;
    if (between < kLeast) return nanoseconds(0);
    looked_ = now;
    nanoseconds longest{0};
    std::map<pid_t, Thread> threads;
    std::error_code error;
    const fs::path tasks = "/proc/" + std::to_string(process) + "/task";
    for (fs::directory_iterator task(tasks, error), end; !error && task != end; task.increment(error)) {
        const std::string name = task->path().filename().string();
        pid_t id = 0;
        std::from_chars(name.data(), name.data() + name.size(), id);
        Thread is;
        if (!(std::ifstream(task->path() / "schedstat") >> is.ran >> is.stood)) continue;
        read_state(task->path(), is.wants_to_run, is.slept);
        const auto known = threads_.find(id);
        const Thread was = known != threads_.end() ? known->second : Thread();
        threads[id] = is;
        // Where it did not sleep it stood in line whenever it did not run, and the last of these waits may not have ended.
        const bool awake = was.wants_to_run && is.wants_to_run && was.slept == is.slept;
        const auto ran = nanoseconds(is.ran - was.ran);
        longest = std::max(longest, awake ? between - ran : nanoseconds(is.stood - was.stood));
    }
    threads_ = std::move(threads);
    return std::min(longest, between);
}

}  // namespace backplane::base
