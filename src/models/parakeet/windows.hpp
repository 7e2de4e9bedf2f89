// A clip as windows that the network sees at once, cut where speech pauses.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "backplane/transcriber.hpp"
#include "models/parakeet/pauses.hpp"
#include "models/parakeet/voice_track.hpp"

namespace backplane::parakeet {

struct Window {
    size_t clip = 0, number = 0;  // in the clip
    uint64_t start = 0;           // sample of the clip
    uint64_t overlap = 0;         // samples that it has in common with the one before
    uint64_t passed = 0;          // samples before it that are in no window
    std::vector<float> samples;
};

// How windows are cut: their length at most, in samples, and by what.
struct Cutting {
    int64_t sample_rate = 0;
    size_t most = 0;
    silero::VoiceDetector* voices = nullptr;  // null: by energy

    [[nodiscard]] size_t samples(double seconds) const {
        return static_cast<size_t>(seconds * static_cast<double>(sample_rate));
    }
    // Where the first window of `there` ends, of which more is to come; `silences` are those that a voice detector heard in it.
    [[nodiscard]] Cut next_cut(std::span<const float> there, std::span<const Silence> silences) const;
};

// Holds a window of samples. A clip that fits into one is one window, whatever is in it; in a longer one stretches where the voice detector hears
// nothing for three seconds or more are in no window, but for half a second at either end.
class Windows {
public:
    Windows(const SampleSource& source, size_t clip, const Cutting& cutting);

    // The next in order of time; nothing: the clip has ended.
    std::optional<Window> next(const std::atomic<uint32_t>* cancel);
    [[nodiscard]] uint64_t read() const noexcept { return start_ + there_.size(); }  // samples so far
    [[nodiscard]] uint64_t passed() const noexcept {
        return passed_;
    }  // of them, those behind the last window that are in none

private:
    void fill();
    std::optional<size_t> skipped(std::span<const Silence> silences) const;
    Cut cut(std::span<const Silence> silences) const;
    void drop(size_t samples);

    const SampleSource& source_;
    size_t clip_, cut_ = 0;
    Cutting cutting_;
    std::optional<VoiceTrack> track_;
    std::vector<float> there_;
    uint64_t start_ = 0;  // of the first of them
    uint64_t shared_ = 0, passed_ = 0;
    bool long_ = false, end_ = false;
};

}  // namespace backplane::parakeet
