// Weights by name from the files that people publish them in, for graphs of any network: GGUF, safetensors (also in several files), the initialisers
// of ONNX models.
//
//   const WeightFile file = WeightFile::open("model.safetensors");
//   Graph graph;
//   const TensorId x = graph.input("x", DType::f32, {1, 64});
//   graph.output(ops::matmul(graph, x, file.add(graph, "fc.weight"), {.transpose_b = true}), "y");
//   Session session(device, graph, Weights(file.source()));
//
// A WeightFile is immutable: any member may be called from many threads, and copies share the mapping. Formats: docs/formats.md. In the library
// backplane::models.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backplane/gguf.hpp"
#include "backplane/graph.hpp"
#include "backplane/runtime.hpp"

namespace backplane {

struct WeightTensor {
    std::string name;
    DType dtype = DType::unknown;  // unknown: a type that graphs do not have
    std::string type;              // as the file calls it: "Q4_K", "F8_E4M3"
    Shape shape;                   // outermost first
    uint64_t bytes = 0;
};

class WeightFile {
public:
    // By its content: a .gguf, .safetensors or .onnx file (whose tensors may lie in other files of its folder); an index, model.safetensors.index.json,
    // whose "weight_map" says in which file beside it each tensor is; or a folder that has one of model.safetensors.index.json, model.safetensors.
    // Throws Error: not_found, denied (what the system says), corrupt (a file that lies or is cut off; none of these formats), unsupported (another
    // version of one).
    static WeightFile open(const std::filesystem::path& path);

    [[nodiscard]] const std::string& format() const noexcept;                        // "GGUF", "safetensors", "ONNX"
    [[nodiscard]] const std::string& name() const noexcept;                          // the path, for messages
    [[nodiscard]] const std::vector<WeightTensor>& tensors() const noexcept;         // in the file's order
    [[nodiscard]] const WeightTensor* find(std::string_view tensor) const noexcept;  // null: none of that name
    // What the file says of itself beside tensors, in its order: GGUF's keys, the texts of safetensors' __metadata__ and of ONNX.
    [[nodiscard]] const std::vector<std::pair<std::string, GgufValue>>& metadata() const noexcept;

    // Dense and row-major, in the mapping where the file has it as it is used; a copy where it lies off its alignment. Valid while any copy of this
    // WeightFile lives. Throws Error(not_found) that names the nearest name.
    [[nodiscard]] std::span<const std::byte> data(std::string_view tensor) const;

    // The tensor as a weight of the graph, under its name, of its type and shape. Throws Error: not_found, unsupported (a type that graphs do not have).
    TensorId add(Graph& graph, std::string_view tensor) const;  // NOLINT(modernize-use-nodiscard): the graph has it
    // For Weights. Valid after the last copy of this WeightFile too. Nothing of an unknown name.
    [[nodiscard]] WeightSource source() const;

private:
    struct State;
    std::shared_ptr<const State> state_;
};

}  // namespace backplane
