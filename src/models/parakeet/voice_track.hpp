// Where speech pauses in a stream of samples, as a voice detector hears it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "models/parakeet/pauses.hpp"
#include "models/silero/voice_detector.hpp"

namespace backplane::parakeet {

struct Silence {
    size_t from = 0, to = 0;  // samples
};

// Positions in it count from the stream's first sample; it keeps what was heard and not forgotten.
class VoiceTrack {
public:
    // `at_once`: windows that the detector takes together; 1: what it says does not depend on the pieces that samples come in.
    explicit VoiceTrack(silero::VoiceDetector& detector, size_t at_once) : detector_(&detector), at_once_(at_once) {}

    // Listens to what is new of the samples that are there, which begin at `start`; less than a window at the end waits for more.
    void hear(std::span<const float> there, uint64_t start, const std::atomic<uint32_t>* cancel);
    void forget(uint64_t before);
    // Stretches without speech of the `count` samples from `start` on, as far as they were heard: positions from `start` on.
    [[nodiscard]] std::vector<Silence> silences(uint64_t start, size_t count) const;
    [[nodiscard]] uint64_t heard() const noexcept { return heard_; }

private:
    silero::VoiceDetector* detector_;
    size_t at_once_;
    silero::VoiceState state_;
    uint64_t heard_ = 0, at_ = 0;  // samples: heard so far; before the first window of `speech_`
    std::deque<float> speech_;     // probabilities
};

// The middle of the longest silence, of those of a third of a second or more and of the parts of them from `least` to `most`; the last of several
// alike. Nothing: there is none.
std::optional<size_t> longest_pause(std::span<const Silence> silences, int64_t sample_rate, size_t least, size_t most);

// As quiet_ends() of the `count` samples that the silences are of; those behind the last window heard are of its kind.
Quiet silent_ends(std::span<const Silence> silences, size_t count);

}  // namespace backplane::parakeet
