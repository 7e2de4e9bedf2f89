// What this process is doing with a module, where it can be read when the process is no more: a small file for each module in use that wants
// a trial in a child process. The next process that starts reads the files of dead ones (registry/incident.hpp).
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/fault_watch.hpp"
#include "base/held_file.hpp"

namespace backplane::registry {

// What the host is doing with a module. The numbers are those of the files: appended, never reused.
enum class Stage : uint32_t {
    idle,
    load,
    table,
    open,
    list,
    device_open,
    ask,
    compile,
    pack,
    run,
    copy,
    memory,
    close,
    unload
};
const char* name_of(Stage stage) noexcept;  // "opening a device"
// Takes so much of a process's time that one which is killed for other reasons is often in it.
constexpr bool is_long(Stage stage) noexcept {
    return stage == Stage::compile || stage == Stage::pack || stage == Stage::run || stage == Stage::copy ||
           stage == Stage::memory;
}

// How a process ended that was inside a module.
enum class Cause : uint32_t {
    unknown = 0,    // killed, by whomever; power cut
    fault = 1,      // by a signal of the processor, or abort(), on a thread that was inside
    exit = 2,       // the module, or a driver in it, ended the process
    elsewhere = 3,  // a fault on another thread: the module's own, or the host's
    asked = 4,      // it was asked to end: Ctrl-C, SIGTERM
};

struct MarkRead {
    std::string key, file;  // of the module: which build of it, and its path
    uint64_t process = 0;
    int64_t since = 0;  // seconds since 1970: when the stage began
    Stage stage = Stage::idle;
    Cause cause = Cause::unknown;
    int signal = 0;
    bool came_back = false;  // the process had been in that stage before, and out again
};

// All but making and destroying one: any thread, at once.
class Mark {
public:
    // In the folder `marks` of the state folder, which it makes. Null: it cannot; `problem` then says why. `note_faults`: ContextOptions.
    static std::unique_ptr<Mark> make(const std::filesystem::path& state_folder, const std::string& key,
                                      const std::string& file, bool note_faults, std::string& problem);
    ~Mark();  // a clean end
    Mark(const Mark&) = delete;
    Mark& operator=(const Mark&) = delete;

    // The calling thread is in this stage until leave() is called with what enter() gave. A few nanoseconds, no system call where the file
    // system allows that.
    [[nodiscard]] int enter(Stage stage) noexcept;
    void leave(int place) noexcept;

    // In a signal handler, or at exit(): on the thread to which it happens.
    void note(Cause inside, Cause outside, int signal) noexcept;
    void forget_unless_inside() noexcept;

private:
    struct Page;
    Mark(std::unique_ptr<base::HeldFile> file, bool note_faults);
    friend std::optional<MarkRead> read_mark(std::span<const std::byte> content);

    [[nodiscard]] Page& page() const noexcept;
    [[nodiscard]] bool is_ours() const noexcept { return generation_ == base::fork_generation(); }
    void written(Stage stage) const noexcept;

    std::filesystem::path state_folder_;
    std::string module_;
    std::unique_ptr<base::HeldFile> file_;
    bool note_faults_;
    base::FaultWatch watch_;
    unsigned generation_;
    std::atomic<bool> opened_{false};
};

// What the content of a mark says; nothing when it is no mark, or nobody was inside.
std::optional<MarkRead> read_mark(std::span<const std::byte> content);

std::filesystem::path marks_folder(const std::filesystem::path& state_folder);

// Around a call, for as long as this lives. No mark: nothing.
class Inside {
public:
    Inside(Mark* mark, Stage stage) noexcept : mark_(mark), place_(mark != nullptr ? mark->enter(stage) : 0) {}
    ~Inside() {
        if (mark_ != nullptr) mark_->leave(place_);
    }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

private:
    Mark* mark_;
    int place_;
};

}  // namespace backplane::registry
