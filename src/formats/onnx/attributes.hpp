// Attributes of a node of ONNX where no rule is at work: one that is not there, or of another kind, has its default.
#pragma once

#include <string>

#include "formats/onnx/model.hpp"

namespace backplane::formats {

inline int64_t onnx_integer(const OnnxNode& node, const std::string& name, int64_t otherwise) {
    const auto found = node.attributes.find(name);
    return found == node.attributes.end() || found->second.integers.empty() ? otherwise : found->second.integers.front();
}
inline double onnx_number(const OnnxNode& node, const std::string& name, double otherwise) {
    const auto found = node.attributes.find(name);
    return found == node.attributes.end() || found->second.numbers.empty() ? otherwise : found->second.numbers.front();
}

}  // namespace backplane::formats
