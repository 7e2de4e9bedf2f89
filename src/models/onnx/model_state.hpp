// What copies of a Model share.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "backplane/model.hpp"
#include "formats/aligned_bytes.hpp"
#include "formats/onnx/convert.hpp"
#include "formats/onnx/folder.hpp"
#include "formats/onnx/prepare.hpp"
#include "gguf/mapped_file.hpp"

namespace backplane {

struct Model::State {
    formats::MappedFile file;
    std::optional<formats::OnnxFolder> folder;
    formats::OnnxModel network;  // prepared
    ModelInfo info;
    std::vector<ModelValue> inputs, outputs;

    // What the graphs call weights. Those that the file has off their alignment are copied when they are first asked for.
    [[nodiscard]] std::span<const std::byte> weight(std::string_view name) const;
    [[nodiscard]] size_t input(std::string_view name) const;  // throws Error(invalid)

    formats::OnnxWeights weights;
    formats::AlignedBytes aligned;
};

// The inputs of a call in the order of the model's, checked against them.
class GivenInputs {
public:
    // Throws Error(invalid). `all`: none may be missing.
    GivenInputs(const Model::State& model, std::span<const ModelInput> inputs, bool all);

    [[nodiscard]] const ModelInput* at(size_t i) const noexcept { return given_[i]; }
    // The shape of one that is given.
    [[nodiscard]] const Shape& shape(size_t i) const noexcept { return tensors_[i].shape; }
    // Its content; null: it has none.
    [[nodiscard]] const formats::OnnxTensor* content(size_t i) const;

    // For the converter, whose questions for content are noted down. Lives as long as this.
    [[nodiscard]] formats::OnnxGiven answers(std::set<size_t>* asked) const;

private:
    const Model::State& model_;
    std::vector<const ModelInput*> given_;
    mutable std::vector<formats::OnnxTensor> tensors_;  // content in place; read from a device when it is asked for
};

}  // namespace backplane
