// In place of formats/audio where the libraries are not there (BACKPLANE_AUDIO=OFF).
#include "backplane/audio.hpp"

#include <string>

namespace backplane {

namespace {

Error no_audio(const std::string& name) {
    return {Code::unsupported,
            "cannot open '" + name +
                "': this build reads no sound files; build it with BACKPLANE_AUDIO=ON (needs libsndfile and "
                "libsamplerate), or give it PCM with --live"};
}

}  // namespace

std::unique_ptr<AudioReader> AudioReader::open(const std::filesystem::path& path, int64_t) { throw no_audio(path.string()); }
std::unique_ptr<AudioReader> AudioReader::open_input(int64_t) { throw no_audio("the input stream"); }

}  // namespace backplane
