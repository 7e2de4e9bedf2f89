// The threads of a batch, one for each device.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "batch/batch.hpp"
#include "batch/schedule.hpp"

namespace backplane::batch {

struct CrewOptions {
    bool in_order = false;
    std::function<void(const std::string&)> note;
    // Where other processes work on the same files; called one at a time, never beside `done` and `tick`. `claim`: whether a task that a device would
    // begin is this process's to do; not so, it counts as done, and nobody hears of it. `more`: when none waits any more, the work of one further
    // task, which is claimed and has the next number; nothing: there is none.
    std::function<bool(size_t)> claim;
    std::function<std::optional<double>()> more;
};

class Crew {
public:
    struct Result {
        size_t task = 0;
        std::string device;
        base::Json report;
        std::string error;
        Code code = Code::ok;
        double seconds = 0;
    };

    Crew(const std::vector<double>& work, const std::vector<Station>& stations, CrewOptions options);

    // `done`: of each task once, one call at a time. `tick`: a few times a second from the calling thread, never beside `done`; what either
    // throws ends everything, and is thrown from here. Returns when all tasks ended.
    void run(const std::function<const Task&(size_t)>& task, const std::function<void(const Result&)>& done,
             const std::function<void(double fraction)>& tick);

private:
    enum Wish : uint32_t { go_on = 0, give_up = 1, stop = 2 };
    struct Hand {
        std::atomic<uint32_t> wish{go_on};
    };

    class DeviceFeed;
    void work(size_t device) noexcept;
    void serve(size_t device);
    [[nodiscard]] std::unique_ptr<Worker> open(size_t device);
    [[nodiscard]] bool wait_for_one(size_t device);
    [[nodiscard]] Schedule::Choice choose(size_t device);
    void give_all_back(size_t device, bool not_here);
    void settle(const Result& result);
    void out(size_t device, const std::exception_ptr& error);
    void report_stranded();
    void end_with(const std::exception_ptr& error) noexcept;
    [[nodiscard]] double now() const;

    const std::vector<Station>& stations_;
    CrewOptions options_;
    std::mutex mutex_;
    std::condition_variable changed_;
    Schedule schedule_;
    std::vector<std::unique_ptr<Hand>> hands_;
    std::vector<Error> why_;  // of each task what a device that gave it back said
    std::function<const Task&(size_t)> task_;
    std::function<void(const Result&)> done_;
    std::exception_ptr error_;        // that ended everything
    std::exception_ptr cannot_make_;  // what the first device that could not be made said
    bool stopped_ = false;
    bool deaf_ =
        false;  // who is told of results threw: no more of them. What is done after a stop is told: its target is there
    size_t at_work_ = 0, made_ = 0;
    size_t out_ = 0;  // devices that take nothing more
    std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
};

}  // namespace backplane::batch
