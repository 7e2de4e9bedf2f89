#include "models/parakeet/voice_track.hpp"

#include <algorithm>

namespace backplane::parakeet {

namespace {

using silero::VoiceDetector;

// Silero's own: speech begins at one probability and ends below another.
constexpr float kBegins = 0.5F, kEnds = 0.35F;
constexpr double kLeastPause = 0.32;  // seconds
constexpr double kEnoughPause = 2;    // seconds: what is longer is no better a place
constexpr size_t kHeardAtOnce = VoiceDetector::kWindow;

}  // namespace

void VoiceTrack::hear(std::span<const float> there, uint64_t start, const std::atomic<uint32_t>* cancel) {
    if (heard_ < start) {  // nobody listened to what lies between
        heard_ = at_ = start;
        speech_.clear();
    }
    auto fresh = there.subspan(std::min(there.size(), static_cast<size_t>(heard_ - start)));
    while (fresh.size() >= kHeardAtOnce) {
        const auto some = fresh.first(std::min(fresh.size() / kHeardAtOnce, at_once_) * kHeardAtOnce);
        const std::vector<float> speech = detector_->next(state_, some, cancel);
        speech_.insert(speech_.end(), speech.begin(), speech.end());
        heard_ += some.size();
        fresh = fresh.subspan(some.size());
    }
}

void VoiceTrack::forget(uint64_t before) {
    for (; !speech_.empty() && at_ + kHeardAtOnce <= before; at_ += kHeardAtOnce) speech_.pop_front();
}

std::vector<Silence> VoiceTrack::silences(uint64_t start, size_t count) const {
    std::vector<Silence> all;
    bool speaks = false, open = false;
    uint64_t at = at_;
    for (const float speech : speech_) {
        const uint64_t from = std::max(at, start), to = std::min(at + kHeardAtOnce, start + count);
        at += kHeardAtOnce;
        if (to <= from) continue;
        speaks = speech >= (speaks ? kEnds : kBegins);
        if (!speaks) {
            if (!open) all.push_back({static_cast<size_t>(from - start), 0});
            all.back().to = static_cast<size_t>(to - start);
        }
        open = !speaks;
    }
    return all;
}

std::optional<size_t> longest_pause(std::span<const Silence> silences, int64_t sample_rate, size_t least, size_t most) {
    const auto samples = [&](double seconds) { return static_cast<size_t>(seconds * static_cast<double>(sample_rate)); };
    std::optional<size_t> best;
    size_t longest = 0;
    for (const Silence& s : silences) {
        const size_t from = std::max(s.from, least), to = std::min(s.to, most);
        if (s.to - s.from < samples(kLeastPause) || from >= to) continue;
        const size_t length = std::min(s.to - s.from, samples(kEnoughPause));
        if (length < longest) continue;
        longest = length;
        best = from + (to - from) / 2;
    }
    return best;
}

Quiet silent_ends(std::span<const Silence> silences, size_t count) {
    Quiet quiet;
    if (count < kHeardAtOnce) return {count, count};
    if (silences.empty()) return quiet;
    const auto is_end = [&](size_t at) { return at + kHeardAtOnce > count; };
    const Silence &first = silences.front(), &last = silences.back();
    if (first.from == 0) quiet.lead = is_end(first.to) ? count : first.to;
    if (is_end(last.to)) quiet.trail = count - last.from;
    return quiet;
}

}  // namespace backplane::parakeet
