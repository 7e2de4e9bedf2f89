// Sound files as mono samples of one rate, piece by piece: hours of it need no more memory than minutes. WAV, FLAC, Ogg (Vorbis, Opus), MP3, AIFF and
// what else libsndfile reads, of any rate and number of channels. An object is used from one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

#include "backplane/error.hpp"

namespace backplane {

struct AudioInfo {
    int64_t sample_rate = 0;  // of the file
    int64_t channels = 0;
    double seconds = 0;  // 0: not known
};

class AudioReader {
public:
    // What the file is, its first bytes say, not its name. Throws Error: not_found, denied, unsupported (no sound that can be read, or a build
    // without libsndfile), corrupt (no samples in it, a rate or number of channels that nothing has).
    static std::unique_ptr<AudioReader> open(const std::filesystem::path& path, int64_t sample_rate = 16000);
    // From the input stream: WAV, FLAC (of a pipe: on Linux), Ogg, MP3, AIFF and what else needs no look ahead. Throws as open(). What a pipe gives is
    // all there is: no length is known, and a file that is cut off is read as far as it goes.
    static std::unique_ptr<AudioReader> open_input(int64_t sample_rate = 16000);
    virtual ~AudioReader() = default;

    [[nodiscard]] virtual const AudioInfo& info() const noexcept = 0;
    // The next samples, the mean of all channels, band-limited to the rate that is asked for; -1 to 1 where the file is. Gives how many it wrote; 0: the
    // file is at its end. Throws Error(corrupt) for a file that is cut off or broken, and for a sample that is no finite number.
    virtual size_t read(std::span<float> into) = 0;
};

}  // namespace backplane
