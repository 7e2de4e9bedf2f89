// An ESRGAN's layers, checked against each other and against the weights.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "backplane/gguf.hpp"
#include "backplane/graph.hpp"
#include "models/esrgan/layer.hpp"

namespace backplane::esrgan {

// A layer whose inputs are known and fit.
struct Stage {
    Layer layer;
    std::vector<size_t> inputs;  // indices of earlier stages
    int64_t channels = 0;        // of what it writes
    int64_t scale = 1;           // of what it writes, against the image; in parts of Network::unit
    double reach = 0;            // pixels of the image that it sees in each direction
    Shape weight;                // convolution: [out, in, height, width]
};

struct Network {
    std::vector<Stage> stages;  // first the input, last the output; each after its inputs
    int64_t unit = 1;           // what unshuffles make smaller in all: images are filled up to a multiple of it
    int64_t scale = 1;
    int64_t radius = 0;
    uint64_t parameters = 0;
};

// Names of a convolution's tensors.
inline std::string weight_name(const Layer& layer) { return layer.name + ".weight"; }
inline std::string bias_name(const Layer& layer) { return layer.name + ".bias"; }

// Dtype and shape of a tensor; null: there is none of that name.
using FindTensor = std::function<const GgufTensor*(const std::string& name)>;

// `file` is for messages. Throws Error(corrupt): a line that cannot be read, an unknown or doubled name, a layer that nobody uses,
// weights or channels that do not fit, an output that is not RGB.
Network read_network(const std::vector<std::string>& lines, const FindTensor& find_tensor, const std::string& file);

// Input "image", output "upscaled", both f32 [1, height, width, 3]; weights and feature maps are of `dtype`. Throws Error(invalid) for an
// extent under 1 or too large.
Graph build_graph(const Network& network, int64_t height, int64_t width, DType dtype);

}  // namespace backplane::esrgan
