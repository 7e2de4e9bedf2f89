// Many files on all devices of a machine, by one process or a share of them by each of several. What a command does with one file is a Worker's.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backplane/error.hpp"
#include "base/json.hpp"
#include "batch/ranks.hpp"

namespace backplane::batch {

struct Task {
    std::string name;              // of the input, as it was given
    std::filesystem::path target;  // of the result; empty: there is no file of it
    double work = 0;               // how much it is, in any unit; 0: not known
};

// What a Worker asks for files, and tells what became of each. Any thread, one call at a time of each function.
class Feed {
public:
    Feed() = default;
    virtual ~Feed() = default;
    Feed(const Feed&) = delete;
    Feed& operator=(const Feed&) = delete;

    // The next file for this device; nothing: there is none for it now, so that what it has is to be done, and that is all. Never waits.
    virtual std::optional<size_t> next() = 0;
    [[nodiscard]] virtual const Task& task(size_t file) const = 0;
    virtual void progress(double fraction) = 0;  // 0 to 1, of the one file that it has
    // Its target is there, whole. `seconds`: that it took. Throws what ends everything.
    virtual void done(size_t file, base::Json report, double seconds) = 0;
    // Its target is as it was before. Error(no_device_memory): it is given to another device. device_lost and cancelled are thrown on: with them
    // serve() ends. Any other Error is the file's.
    virtual void failed(size_t file, const Error& error, double seconds) = 0;
    // Not 0: serve() ends soon with Error(cancelled). What it has is given to another, or everything ends.
    [[nodiscard]] virtual const std::atomic<uint32_t>& cancel() const noexcept = 0;
};

// One device with what it needs for the work. Used by one thread.
class Worker {
public:
    Worker() = default;
    virtual ~Worker() = default;
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    // Asks for files, there is at least one, and does them until there is none for it.
    virtual void serve(Feed& feed) = 0;
};

// One that does one file after the other.
class OneByOne : public Worker {
public:
    void serve(Feed& feed) final;

protected:
    // The report of a file that is done. Throws Error as Feed::failed() takes it, and cancelled soon after `cancel` is not 0.
    virtual base::Json run(const Task& task, const std::atomic<uint32_t>& cancel,
                           const std::function<void(double fraction)>& progress) = 0;
};

struct Station {
    std::string device;                             // id
    std::function<std::unique_ptr<Worker>()> make;  // called once, by the thread that uses it, when there is a file for it
};

// What became of a file.
struct News {
    int64_t rank = 0;
    size_t task = 0;  // its place among the tasks; their number for one of another rank that is none of them
    std::string file, device;
    base::Json report;  // of the Worker; that of another rank without what Options::not_kept names
    std::string error;  // not empty: it failed
    Code code = Code::ok;
};

struct Options {
    std::filesystem::path folder;  // for the journal; empty: none is kept, and all is done
    std::string how;               // all that a result depends on but its file: a file done otherwise is done again
    bool again = false;            // also what is done
    bool in_order = false;         // done in the order that is given, else the longest first
    bool told_in_order = false;    // a file that is done is told of when those before it are
    Ranks ranks;
    double silence = 300;               // seconds without a sign of life after which rank 0 waits for a rank no more
    std::vector<std::string> not_kept;  // members of reports that are too long for the journal
    const std::atomic<uint32_t>* cancel = nullptr;
    std::function<void(const News&)> tell;  // of each file, as it ends; on rank 0 those of all ranks; one call at a time
    std::function<void(const std::string&)> note;  // a device that could not be used, a rank that was lost
    std::function<void(double fraction, size_t done, size_t of)> progress;  // a few times a second, from the calling thread
};

struct Share {
    std::string device;
    int64_t rank = 0;
    size_t files = 0;
    double seconds = 0;  // at work
};

struct Outcome {
    size_t files = 0, done = 0, skipped = 0;  // of this rank; on rank 0 of all. `skipped`: done by an earlier run
    std::vector<News> failed;
    std::vector<std::string> left;  // files of ranks that were lost, and of those that had another list
    std::vector<Share> shares;      // of devices that did something
    double seconds = 0;
};

// Throws Error(cancelled); what the first make() that fails throws when none can be made; Error(device_lost) when the last device is lost;
// Error(busy) when a living process keeps this rank's journal; and what `tell` throws. What was done by then is done.
Outcome run(const std::vector<Task>& tasks, const std::vector<Station>& stations, const Options& options);

}  // namespace backplane::batch
