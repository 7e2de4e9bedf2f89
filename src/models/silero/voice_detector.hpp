// Silero VAD (versions 5 and 6): how likely a piece of audio has speech in it. The 16 kHz branch of the network, on a device.
// Source: github.com/snakers4/silero-vad; weights: the .onnx files of npm's @ricky0123/vad-web (MIT).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "backplane/runtime.hpp"

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

// What a stream of audio leaves for its next window. As made: another stream begins.
struct VoiceState {
    std::array<float, 64> context{};  // the end of the window before
    std::array<float, 128> hidden{}, cell{};
};

// The network on a device, for any number of streams: f32 mono at 16 kHz, -1 to 1, window after window. One thread at a time.
class VoiceDetector {
public:
    static constexpr size_t kWindow = 512;  // samples: 32 ms
    static constexpr size_t kAtOnce = 16;   // windows of a run, where there are so many
    static constexpr int kSampleRate = 16000;

    // Devices best first, as a Session has them. Throws Error(invalid) where there is none.
    VoiceDetector(std::vector<Device> devices, VoiceNetwork network);

    // The probability of speech, 0 to 1, in each window of the samples that come next; the windows before have a say. Throws Error: invalid for
    // a number of samples that is not whole windows or a sample that is no finite number, and what Session::run throws; the stream is as it was.
    std::vector<float> next(VoiceState& stream, std::span<const float> samples,
                            const std::atomic<uint32_t>* cancel = nullptr);

    [[nodiscard]] const Device& device() const noexcept { return devices_.front(); }
    [[nodiscard]] std::vector<StageRuns> runs() const;  // of all streams so far

private:
    Session& session_for(size_t windows);

    std::vector<Device> devices_;
    VoiceNetwork network_;
    Weights packed_;
    std::map<size_t, Session> sessions_;  // by windows at once: kAtOnce and 1
};

}  // namespace backplane::silero
