#include <algorithm>

#include "models/onnx/model_state.hpp"

namespace backplane {

namespace {

[[noreturn]] void refuse(const ModelValue& input, const std::string& why) {
    throw Error(Code::invalid, "input '" + input.name + "': " + why);
}

bool fits(const ModelValue& input, const Shape& shape) {
    if (!input.has_shape) return true;
    return shape.size() == input.shape.size() &&
           std::equal(shape.begin(), shape.end(), input.shape.begin(),
                      [](int64_t given, int64_t said) { return said == -1 || given == said; });
}

// "[batch, 3, ?, ?]"
std::string words_for(const ModelValue& input) {
    std::string text;
    for (size_t d = 0; d < input.shape.size(); ++d) {
        const std::string open = d < input.symbols.size() && !input.symbols[d].empty() ? input.symbols[d] : "?";
        text += (d == 0 ? "" : ", ") + (input.shape[d] == -1 ? open : std::to_string(input.shape[d]));
    }
    return "[" + text + "]";
}

// "f32 [batch, 3, ?, ?]"
std::string type_and_shape(const ModelValue& input) {
    return std::string(element_name(input.dtype, input.is_unsigned)) +
           (input.has_shape ? " " + words_for(input) : " of any shape");
}

Shape shape_of(const ModelValue& input, const ModelInput& given) {
    if (given.tensor) return given.tensor.shape();
    const bool open = std::find(input.shape.begin(), input.shape.end(), -1) != input.shape.end();
    return given.shape.empty() && input.has_shape && !open ? input.shape : given.shape;
}

void check(const ModelValue& input, const ModelInput& given, const Shape& shape) {
    const DType dtype = given.tensor ? given.tensor.dtype() : given.dtype;
    if (dtype != DType::unknown && dtype != input.dtype)
        refuse(input, std::string("it is of ") + element_name(input.dtype, input.is_unsigned) + ", " + name_of(dtype) +
                          " is given");
    if (std::any_of(shape.begin(), shape.end(), [](int64_t extent) { return extent < 0; }))
        refuse(input, "the shape " + to_string(shape));
    if (!fits(input, shape)) refuse(input, "its shape is " + words_for(input) + ", " + to_string(shape) + " is given");
    const bool has_bytes = !given.bytes.empty() || given.bytes.data() != nullptr;
    if (!given.tensor && has_bytes && input.dtype != DType::unknown && given.bytes.size() != bytes(input.dtype, shape))
        refuse(input, std::string(name_of(input.dtype)) + " " + to_string(shape) + " has " +
                          std::to_string(bytes(input.dtype, shape)) + " bytes, " + std::to_string(given.bytes.size()) +
                          " are given");
}

}  // namespace

GivenInputs::GivenInputs(const Model::State& model, std::span<const ModelInput> inputs, bool all)
    : model_(model), given_(model.inputs.size()), tensors_(model.inputs.size()) {
    for (const ModelInput& given : inputs) {
        const size_t i = model.input(given.name);
        const ModelValue& input = model.inputs[i];
        if (given_[i] != nullptr) refuse(input, "it is given twice");
        given_[i] = &given;
        tensors_[i] = {input.name, input.dtype, shape_of(input, given), {}, given.bytes};
        check(input, given, tensors_[i].shape);
    }
    for (size_t i = 0; all && i < given_.size(); ++i)
        if (given_[i] == nullptr) refuse(model.inputs[i], "it is not given; it takes " + type_and_shape(model.inputs[i]));
}

const formats::OnnxTensor* GivenInputs::content(size_t i) const {
    const ModelInput* given = given_[i];
    if (given == nullptr) return nullptr;
    formats::OnnxTensor& tensor = tensors_[i];
    if (given->tensor && tensor.data.empty()) {
        tensor.data.resize(given->tensor.size());
        given->tensor.read(tensor.data);
    }
    return tensor.bytes().size() == bytes(tensor.dtype, tensor.shape) && (given->tensor || given->bytes.data() != nullptr)
               ? &tensor
               : nullptr;
}

formats::OnnxGiven GivenInputs::answers(std::set<size_t>* asked) const {
    const auto index = [this](const std::string& name) {
        for (size_t i = 0; i < model_.inputs.size(); ++i)
            if (model_.inputs[i].name == name) return i;
        return model_.inputs.size();
    };
    formats::OnnxGiven answers;
    answers.content = [this, index, asked](const std::string& name) -> const formats::OnnxTensor* {
        const size_t i = index(name);
        const formats::OnnxTensor* found = i == given_.size() ? nullptr : content(i);
        if (found != nullptr && asked != nullptr) asked->insert(i);
        return found;
    };
    answers.shape = [this, index](const std::string& name) -> const Shape* {
        const size_t i = index(name);
        return i == given_.size() || given_[i] == nullptr ? nullptr : &tensors_[i].shape;
    };
    return answers;
}

}  // namespace backplane
