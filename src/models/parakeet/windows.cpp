#include "models/parakeet/windows.hpp"

#include <algorithm>
#include <utility>

#include "models/parakeet/recognizer.hpp"

namespace backplane::parakeet {

namespace {

constexpr double kOverlap = 3;        // seconds that windows share where there is no pause to cut in, at most half of one
constexpr double kEdge = 0.5;         // seconds before the end of a window in which it is not cut
constexpr double kSkipped = 3;        // seconds without speech that are left out,
constexpr double kKept = 0.5;         // but for these at either end
constexpr double kWorthSkipping = 1;  // what is less stays
constexpr double kLeastWindow = 1;    // seconds

}  // namespace

Cut Cutting::next_cut(std::span<const float> there, std::span<const Silence> silences) const {
    const size_t least = most / 2, last = most - samples(kEdge);
    if (const auto pause = longest_pause(silences, sample_rate, least, last)) return {*pause, true};
    Cut cut = quietest(there.first(most), sample_rate, least, last);
    if (voices != nullptr) cut.quiet = false;  // somebody speaks there
    return cut;
}

Windows::Windows(const SampleSource& source, size_t clip, const Cutting& cutting)
    : source_(source), clip_(clip), cutting_(cutting) {
    if (cutting.voices != nullptr) track_.emplace(*cutting.voices, silero::VoiceDetector::kAtOnce);
}

void Windows::fill() {
    while (there_.size() < cutting_.most + 1 && !end_) {
        const size_t had = there_.size();
        there_.resize(cutting_.most + 1);
        const size_t more = source_(std::span(there_).subspan(had));
        there_.resize(had + more);
        end_ = more == 0;
        check_finite(std::span(there_).subspan(had), start_ + had);
    }
    long_ = long_ || !end_;
}

void Windows::drop(size_t samples) {
    there_.erase(there_.begin(), there_.begin() + static_cast<std::ptrdiff_t>(samples));
    start_ += samples;
    if (track_) track_->forget(start_);
}

// Samples at the beginning that no window has.
std::optional<size_t> Windows::skipped(std::span<const Silence> silences) const {
    if (silences.empty() || silences.front().from > 0) return {};
    const bool all = silences.front().to + silero::VoiceDetector::kWindow > there_.size();
    const size_t kept = all && end_ ? 0 : cutting_.samples(kKept);
    const size_t silent = all && end_ ? there_.size() : silences.front().to;
    if (silent <= kept || (passed_ == 0 && silent < kept + cutting_.samples(kWorthSkipping))) return {};
    return silent - kept;
}

Cut Windows::cut(std::span<const Silence> silences) const {
    for (const Silence& s : silences)
        if (s.from >= cutting_.samples(kLeastWindow) && s.to - s.from >= cutting_.samples(kSkipped))
            return {s.from + cutting_.samples(kKept), true};
    return end_ ? Cut{there_.size(), true} : cutting_.next_cut(there_, silences);
}

std::optional<Window> Windows::next(const std::atomic<uint32_t>* cancel) {
    std::vector<Silence> silences;
    for (;;) {
        fill();
        if (there_.empty()) return {};
        if (!track_ || !long_) break;
        track_->hear(there_, start_, cancel);
        silences = track_->silences(start_, there_.size());
        const auto silent = skipped(silences);
        if (!silent) break;
        const uint64_t again = std::min<uint64_t>(shared_, *silent);  // another window has them
        shared_ -= again;
        passed_ += *silent - again;
        drop(*silent);
    }
    const Cut at = cut(silences);
    const bool last = at.at == there_.size() && end_;
    const size_t overlap = last || at.quiet ? 0 : std::min(cutting_.samples(kOverlap), at.at / 2);
    Window window{clip_, cut_++, start_, std::exchange(shared_, overlap), std::exchange(passed_, 0), {}};
    window.samples.assign(there_.begin(), there_.begin() + static_cast<std::ptrdiff_t>(at.at));
    drop(at.at - overlap);
    return window;
}

}  // namespace backplane::parakeet
