// The frames of a sound file, as the library that reads its format gives them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

namespace backplane::formats {

class SoundSource {
public:
    struct About {
        int64_t rate = 0;
        int64_t channels = 0;
        uint64_t frames = 0;   // 0: not known
        bool counted = false;  // `frames` is known to be right
        std::string wrong;     // with it already, in words; empty: nothing
    };

    virtual ~SoundSource() = default;
    [[nodiscard]] virtual About about() const = 0;
    // The next whole frames, interleaved; gives how many there were, 0 or less at the end.
    virtual int64_t read(std::span<float> into) = 0;
    // What is wrong with what was read last, in words; empty: nothing.
    [[nodiscard]] virtual std::string problem() const = 0;
};

// An MPEG file (MP3) by libmpg123 itself. libsndfile reads it with the same library, and the same samples, but lets it write notes on damaged files to
// the error stream, of which it cannot be told to keep silent; and no stream of a process can be turned away from it without those of other threads.
// It is there wherever libsndfile reads MP3, and looked for when the program runs. Null: it is not there, or this is no MPEG file.
std::unique_ptr<SoundSource> open_mpeg(const std::filesystem::path& path, std::span<const std::byte> file);
// The same of the input stream, which begins with these bytes.
std::unique_ptr<SoundSource> open_mpeg_input(std::span<const std::byte> begins);

}  // namespace backplane::formats
