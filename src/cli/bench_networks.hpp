// Networks of random weights of three kinds, for measurements that need no file: small enough for any device.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "backplane/graph.hpp"
#include "backplane/runtime.hpp"

namespace backplane::cli {

// Of which it is asked, and of which something is learnt: a smaller one and a larger one.
struct BenchSizes {
    int64_t asked = 0, smaller = 0, larger = 0;
};

struct BenchNetwork {
    std::string name, unit;               // "pictures", "pixels in each direction"
    std::function<Graph(int64_t)> graph;  // of a size
    WeightSource weights;
    BenchSizes sizes;
};

// Names: "pictures" (residual dense convolutions, as ESRGAN has them), "speech" (the encoder of a Parakeet network with four layers, its front end and CTC
// head), "decoder" (a token of a transformer with a cache of keys and values).
const std::vector<std::string>& bench_network_names();
BenchNetwork bench_network(std::string_view name);

}  // namespace backplane::cli
