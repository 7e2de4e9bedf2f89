// bench stream --network: a network through budgets that do not hold its weights.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backplane/context.hpp"

namespace backplane::cli {

struct Run;

struct StreamedNetworkChoice {
    std::string network;                                   // "110m", "thick"; empty: none
    std::string save;                                      // its file; empty: gone at the end
    std::vector<int64_t> percent{100, 75, 50, 25, 10, 0};  // of its weights
    double seconds = 30;
    int64_t batch = 1;
    int64_t size = 64;  // of a picture, which is square
    int passes = 20;
};

void bench_stream_network(const StreamedNetworkChoice& o, const Device& device, Run& run);

}  // namespace backplane::cli
