#include "models/parakeet/batches.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace backplane::parakeet {

namespace {

constexpr size_t kPadding = 8;       // of a batch that does not wait, one of so many parts at most
constexpr size_t kBatchesInAll = 8;  // that wait, of clips that are short,
constexpr size_t kLongBatches = 2;   // and of the longest
constexpr size_t kOvertaken = 4;     // batches that run before the window that waits longest, at most

// Of a batch of windows of these lengths, in order.
size_t padding(std::span<const size_t> sizes) {
    return sizes.size() * sizes.back() - std::accumulate(sizes.begin(), sizes.end(), size_t{0});
}

}  // namespace

std::optional<ClipPart> ClipReader::part_of_clip() {
    const size_t clip = clips_ - 1;
    if (auto window = windows_->next(cancel_)) return ClipPart{clip, std::move(window), {}, 0, 0};
    ClipPart end{clip, {}, {}, windows_->read(), windows_->passed()};
    windows_.reset();
    return end;
}

std::optional<ClipPart> ClipReader::next() {
    if (end_) return {};
    try {
        if (!windows_) {
            ++clips_;
            source_ = open_();
            if (source_) windows_.emplace(*source_, clips_ - 1, cutting_);
        }
        if (windows_) return part_of_clip();
    } catch (const Error& error) {
        if (error.code() == Code::cancelled) throw;
        windows_.reset();
        return ClipPart{clips_ - 1, {}, error, 0, 0};
    }
    end_ = true;
    return {};
}

ReadAhead::ReadAhead(ClipReader& reader, size_t most) : reader_(reader), most_(most), thread_([this] { read(); }) {}

ReadAhead::~ReadAhead() {
    {
        const std::lock_guard lock(mutex_);
        stop_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

// Whether there is more.
bool ReadAhead::read_part() {
    {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return stop_ || samples_ < most_; });
        if (stop_) return false;
    }
    std::optional<ClipPart> part = reader_.next();
    const std::lock_guard lock(mutex_);
    end_ = !part;
    if (part) {
        samples_ += part->window ? part->window->samples.size() : 0;
        parts_.push_back(std::move(*part));
    }
    changed_.notify_all();
    return !end_;
}

void ReadAhead::read() noexcept {
    try {
        while (read_part()) {
        }
    } catch (...) {
        const std::lock_guard lock(mutex_);
        end_ = true;
        thrown_ = std::current_exception();
        changed_.notify_all();
    }
}

std::optional<ClipPart> ReadAhead::next() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return end_ || !parts_.empty(); });
    if (parts_.empty()) {
        if (thrown_) std::rethrow_exception(thrown_);
        return {};
    }
    ClipPart part = std::move(parts_.front());
    parts_.pop_front();
    samples_ -= part.window ? part.window->samples.size() : 0;
    changed_.notify_all();
    return part;
}

std::vector<size_t> next_batch(std::span<const size_t> lengths, size_t batch, bool may_wait) {
    if (lengths.empty()) return {};
    std::vector<size_t> order(lengths.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return lengths[a] < lengths[b]; });
    std::vector<size_t> sizes;
    for (const size_t i : order) sizes.push_back(lengths[i]);
    const auto part = [&](size_t first, size_t count) {
        std::vector<size_t> some(order.begin() + static_cast<std::ptrdiff_t>(first),
                                 order.begin() + static_cast<std::ptrdiff_t>(first + count));
        std::sort(some.begin(), some.end());
        return some;
    };
    std::vector<size_t> best;
    if (may_wait) {
        for (size_t first = 0; first + batch <= order.size(); ++first) {
            const auto some = std::span(sizes).subspan(first, batch);
            if (padding(some) * kPadding > batch * some.back()) continue;
            std::vector<size_t> those = part(first, batch);
            if (best.empty() || those.front() < best.front()) best = std::move(those);
        }
        return best;
    }
    // Around the one that waits longest: the most of them, then those with the least padding.
    const auto oldest = static_cast<size_t>(std::find(order.begin(), order.end(), size_t{0}) - order.begin());
    size_t least = 0;
    for (size_t first = oldest + 1 - std::min(oldest + 1, batch); first <= oldest; ++first) {
        size_t count = std::min(batch, order.size() - first);
        while (first + count - 1 > oldest && sizes[first + count - 1] > 2 * sizes[first]) --count;
        const auto some = std::span(sizes).subspan(first, count);
        if (some.back() > 2 * some.front()) continue;
        if (best.size() > count || (best.size() == count && least <= padding(some))) continue;
        best = part(first, count);
        least = padding(some);
    }
    return best;
}

void WaitingWindows::add(Window window) {
    samples_ += window.samples.size();
    windows_.push_back(std::move(window));
}

void WaitingWindows::drop(size_t clip) {
    std::erase_if(windows_, [&](const Window& window) {
        if (window.clip != clip) return false;
        samples_ -= window.samples.size();
        return true;
    });
}

std::vector<Window> WaitingWindows::take(bool more) {
    const bool full = windows_.size() >= kBatchesInAll * batch_ || samples_ >= kLongBatches * batch_ * longest_;
    std::vector<size_t> lengths;
    for (const Window& window : windows_) lengths.push_back(window.samples.size());
    std::vector<Window> taken;
    std::vector<size_t> places;
    if (overtaken_ < kOvertaken) places = next_batch(lengths, batch_, true);
    if (places.empty() && (full || !more || overtaken_ == kOvertaken)) places = next_batch(lengths, batch_, false);
    if (!places.empty()) overtaken_ = places.front() == 0 ? 0 : overtaken_ + 1;
    for (const size_t i : places) {
        samples_ -= windows_[i].samples.size();
        taken.push_back(std::move(windows_[i]));
    }
    for (auto i = places.rbegin(); i != places.rend(); ++i)
        windows_.erase(windows_.begin() + static_cast<std::ptrdiff_t>(*i));
    return taken;
}

}  // namespace backplane::parakeet
