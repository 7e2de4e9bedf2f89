// What was said of transcribe's options and arguments.
#pragma once

#include <string>
#include <vector>

#include "backplane/transcriber.hpp"
#include "cli/batch_command.hpp"
#include "cli/cli.hpp"
#include "cli/memory_options.hpp"
#include "cli/place_options.hpp"

namespace backplane::cli {

struct TranscribeChoice {
    DeviceChoice choice;
    BatchChoice many;
    MemoryChoice memory;
    PlaceChoice place;
    std::vector<std::string> audio;
    std::string model, format = "auto", decoder = "auto", language = "auto", dtype = "f32", vad = "auto";
    double window = 30;
    int64_t batch = 0;
    bool timestamps = false, live = false, exact = false;
};

inline constexpr const char* kPipe = "-";
inline constexpr const char* kAudio = "WAV, FLAC, Ogg, Opus or MP3";

inline const char* decoder_name(SpeechDecoder decoder) {
    if (decoder == SpeechDecoder::ctc) return "ctc";
    return decoder == SpeechDecoder::rnnt ? "rnnt" : "tdt";
}

}  // namespace backplane::cli
