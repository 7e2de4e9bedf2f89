// Sounds of five seconds in the formats that libsndfile writes.
#pragma once

#include <sndfile.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "backplane/audio.hpp"
#include "support.hpp"

namespace backplane {

constexpr int kSeconds = 5;

struct Kind {
    const char* name;
    int format, rate, channels;
};

inline const std::vector<Kind> kKinds{
    {"a.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_16, 16000, 1},
    {"a.aiff", SF_FORMAT_AIFF | SF_FORMAT_PCM_16, 16000, 2},
    {"b.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_24, 44100, 2},
    {"c.wav", SF_FORMAT_WAV | SF_FORMAT_ULAW, 8000, 1},
    {"a.flac", SF_FORMAT_FLAC | SF_FORMAT_PCM_16, 16000, 1},
    {"b.flac", SF_FORMAT_FLAC | SF_FORMAT_PCM_24, 44100, 2},
    {"a.ogg", SF_FORMAT_OGG | SF_FORMAT_VORBIS, 16000, 1},
    {"b.ogg", SF_FORMAT_OGG | SF_FORMAT_VORBIS, 44100, 2},
    {"a.opus", SF_FORMAT_OGG | SF_FORMAT_OPUS, 16000, 1},
    {"a.mp3", SF_FORMAT_MPEG | SF_FORMAT_MPEG_LAYER_III, 16000, 1},
    {"b.mp3", SF_FORMAT_MPEG | SF_FORMAT_MPEG_LAYER_III, 44100, 2},
};

// "a_wav", of a test that is made for each.
inline std::string name_of_kind(const ::testing::TestParamInfo<Kind>& kind) {
    std::string name = kind.param.name;
    std::replace(name.begin(), name.end(), '.', '_');
    return name;
}

// The bytes of the file that is written there; empty: this libsndfile does not write the format.
inline std::string written(const Kind& kind, const std::filesystem::path& path) {
    SF_INFO info{};
    info.samplerate = kind.rate;
    info.channels = kind.channels;
    info.format = kind.format;
    SNDFILE* const file = sf_open(path.string().c_str(), SFM_WRITE, &info);
    if (file == nullptr) return {};
    std::vector<float> samples(static_cast<size_t>(kind.rate * kSeconds * kind.channels));
    for (size_t i = 0; i < samples.size(); ++i) {
        const auto x = static_cast<float>(i);
        samples[i] =
            0.4F * std::sin(x * 0.05F * (1 + 0.3F * std::sin(x * 1e-4F))) + static_cast<float>(i * 7919 % 1000) * 1e-4F;
    }
    sf_writef_float(file, samples.data(), kind.rate * kSeconds);
    sf_close(file);
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

// How many samples there are at 16 kHz.
inline size_t read_all(const std::filesystem::path& path) {
    const auto reader = AudioReader::open(path);
    std::vector<float> piece(10000);
    size_t all = 0;
    for (size_t got = 1; got > 0; all += got) got = reader->read(piece);
    return all;
}

}  // namespace backplane
