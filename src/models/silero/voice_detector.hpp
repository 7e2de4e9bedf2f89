// Silero VAD (versions 5 and 6): how likely a piece of audio has speech in it. The 16 kHz branch of the network, on the host.
// Source: github.com/snakers4/silero-vad; weights: the .onnx files of npm's @ricky0123/vad-web (MIT).
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

namespace backplane::silero {

// Weights. Immutable: may be shared by threads. Copies share them.
class VoiceNetwork {
public:
    // silero_vad_v5.onnx or silero_vad_v6.onnx. Throws Error: not_found, denied; corrupt (no ONNX, weights of other shapes); unsupported (another
    // network).
    static VoiceNetwork open(const std::filesystem::path& path);

private:
    friend class VoiceDetector;
    struct Weights;
    std::shared_ptr<const Weights> weights_;
};

// One stream of audio: f32 mono at 16 kHz, -1 to 1, window after window. One thread at a time.
class VoiceDetector {
public:
    static constexpr size_t kWindow = 512;  // samples: 32 ms
    static constexpr int kSampleRate = 16000;

    explicit VoiceDetector(VoiceNetwork network);
    ~VoiceDetector();
    VoiceDetector(VoiceDetector&&) noexcept;
    VoiceDetector& operator=(VoiceDetector&&) noexcept;

    // The probability of speech in the window that comes next, 0 to 1; the windows before have a say. Throws Error(invalid) for another size
    // than kWindow or a sample that is no finite number; the stream is as it was.
    float next(std::span<const float> window);
    void reset();  // as new: another stream begins

private:
    struct State;
    VoiceNetwork network_;
    std::unique_ptr<State> state_;
};

}  // namespace backplane::silero
