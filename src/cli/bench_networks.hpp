// Networks of random weights of three kinds, for measurements that need no file: small enough for any device.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "backplane/graph.hpp"
#include "backplane/runtime.hpp"

namespace backplane::cli {

struct BenchNetwork {
    std::string name, unit;               // "pictures", "pixels in each direction"
    std::function<Graph(int64_t)> graph;  // of a size
    WeightSource weights;
    int64_t first = 0, second = 0;  // sizes: of which something is learnt, of which it is asked
};

// Names: "pictures" (residual dense convolutions, as ESRGAN has them), "speech" (the encoder of a Parakeet network with four layers, its front end and CTC
// head), "decoder" (a token of a transformer with a cache of keys and values).
const std::vector<std::string>& bench_network_names();
BenchNetwork bench_network(std::string_view name);

}  // namespace backplane::cli
