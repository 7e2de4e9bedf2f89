// One layer of an ESRGAN, and its line of text in a GGUF file. Form: docs/formats.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace backplane::esrgan {

// Tensors are feature maps: channels at some whole multiple of the image's size.
enum class LayerKind { input, convolution, relu, leaky, concatenate, add, multiply, upsample, shuffle, unshuffle, output };

struct Layer {
    LayerKind kind = LayerKind::input;
    std::string name;                 // of what it writes; `output` writes nothing and has none
    std::vector<std::string> inputs;  // names of earlier layers
    int64_t by = 1;                   // upsample, shuffle: how many times larger; unshuffle: smaller
    float factor = 1;                 // multiply; leaky: below 0
};

// 1 to 255 printable ASCII characters other than space and '='.
bool is_layer_name(std::string_view name) noexcept;

// Strict: throws Error(corrupt) that quotes the line.
Layer parse_layer(std::string_view line);

// parse_layer(to_text(layer)) is the layer again, bit by bit.
std::string to_text(const Layer& layer);

}  // namespace backplane::esrgan
