// bench stream --network: a speech network through budgets that do not hold its weights.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backplane/context.hpp"

namespace backplane::cli {

struct Run;

struct StreamSpeechChoice {
    std::string network;                                   // "110m"; empty: none
    std::string save;                                      // its file; empty: gone at the end
    std::vector<int64_t> percent{100, 75, 50, 25, 10, 0};  // of its weights
    double seconds = 30;
    int64_t batch = 1;
    int passes = 20;
};

void bench_stream_speech(const StreamSpeechChoice& o, const Device& device, Run& run);

}  // namespace backplane::cli
