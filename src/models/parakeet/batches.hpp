// Windows of many clips in batches of like length: what reads clips ahead of the device, and what chooses the windows that go to it together.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "models/parakeet/windows.hpp"

namespace backplane::parakeet {

// One thing of a clip: its next window; else that it could not be read further; else that it has ended.
struct ClipPart {
    size_t clip = 0;
    std::optional<Window> window;
    std::optional<Error> error;
    uint64_t samples = 0, passed = 0;  // at its end: all of them, and those behind the last window that are in none
};

using NextClip = std::function<std::optional<SampleSource>()>;  // nothing: that was the last
using NextPart = std::function<std::optional<ClipPart>()>;      // likewise

// The parts of clips, one clip after the other, numbered as they are asked for. An Error of a clip is a part of it; one that says cancelled is thrown.
class ClipReader {
public:
    ClipReader(NextClip open, const Cutting& cutting, const std::atomic<uint32_t>* cancel)
        : open_(std::move(open)), cutting_(cutting), cancel_(cancel) {}
    std::optional<ClipPart> next();

private:
    std::optional<ClipPart> part_of_clip();

    NextClip open_;
    Cutting cutting_;
    const std::atomic<uint32_t>* cancel_;
    size_t clips_ = 0;
    std::optional<SampleSource> source_;
    std::optional<Windows> windows_;
    bool end_ = false;
};

// What a reader gives, read by a thread of its own while `most` samples or fewer wait.
class ReadAhead {
public:
    ReadAhead(ClipReader& reader, size_t most);
    ~ReadAhead();  // waits for the call of a source that is under way
    ReadAhead(const ReadAhead&) = delete;
    ReadAhead& operator=(const ReadAhead&) = delete;
    std::optional<ClipPart> next();  // throws what the reader threw

private:
    bool read_part();
    void read() noexcept;

    ClipReader& reader_;
    size_t most_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<ClipPart> parts_;
    size_t samples_ = 0;  // in them
    bool end_ = false, stop_ = false;
    std::exception_ptr thrown_;
    std::thread thread_;  // the last member: it uses all others
};

// Of windows of these lengths, those that go to the device together, at most `batch`; the first waits longest. None: where it `may_wait`, until
// there is a whole batch of which an eighth at most is padding; of several such batches the one with the window that waits longest. Where it may not,
// that window and as many as are at least half as long as the longest of them.
[[nodiscard]] std::vector<size_t> next_batch(std::span<const size_t> lengths, size_t batch, bool may_wait);

// Windows that wait for others of their length: the samples of two batches of the longest at most, eight batches of any. No more than four batches
// run before the one that waits longest.
class WaitingWindows {
public:
    WaitingWindows(size_t batch, size_t longest) : batch_(batch), longest_(longest) {}
    void add(Window window);
    void drop(size_t clip);
    // The next batch; empty: there is none until more come, or, where no `more` will, none.
    [[nodiscard]] std::vector<Window> take(bool more);

private:
    size_t batch_, longest_, samples_ = 0, overtaken_ = 0;
    std::vector<Window> windows_;  // in order of coming
};

}  // namespace backplane::parakeet
