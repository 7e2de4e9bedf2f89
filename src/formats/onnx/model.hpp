// ONNX models as plain data (onnx.proto, IR version 8): what of the file a converter needs, checked no further than that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backplane/graph.hpp"

namespace backplane::formats {

// Dense and row-major.
struct OnnxTensor {
    std::string name;
    DType dtype = DType::unknown;
    Shape shape;
    std::vector<std::byte> data;  // bytes(dtype, shape)
};

struct OnnxModel;

// One of the kinds of value that an attribute has; the others are empty.
struct OnnxAttribute {
    enum class Kind {
        number = 1,
        integer = 2,
        text = 3,
        tensor = 4,
        graph = 5,
        numbers = 6,
        integers = 7,
        texts = 8,
        other = 0
    };
    Kind kind = Kind::other;
    std::vector<double> numbers;
    std::vector<int64_t> integers;
    std::vector<std::string> texts;
    std::shared_ptr<const OnnxTensor> tensor;
    std::shared_ptr<const OnnxModel> graph;  // a branch, a body of a loop; its opset is that of the model around it
};

struct OnnxNode {
    std::string op, domain, name;
    std::vector<std::string> inputs, outputs;  // an empty name: not given, not wanted
    std::map<std::string, OnnxAttribute> attributes;
};

struct OnnxValue {
    std::string name;
    bool is_tensor = false;        // not a sequence, a map or an optional value
    DType dtype = DType::unknown;  // of a type that graphs do not have
    Shape shape;                   // an extent that the file leaves open is -1
};

struct OnnxModel {
    int64_t opset = 0;            // of the operators of ONNX itself
    std::vector<OnnxNode> nodes;  // each after those whose results it takes
    std::vector<OnnxTensor> initializers;
    std::vector<OnnxValue> inputs, outputs;
};

// Trust nothing in the bytes. `file` is for messages. Throw Error: corrupt (not the wire format, tensors of another size than they say), unsupported
// (initializers in other files or of types that graphs do not have: strings, u32, u64, complex numbers).
OnnxModel parse_onnx(std::span<const std::byte> bytes, const std::string& file);
OnnxTensor parse_onnx_tensor(std::span<const std::byte> bytes, const std::string& file);

// TensorProto::DataType; unknown: a type that graphs do not have.
DType dtype_of_onnx(int64_t type) noexcept;

}  // namespace backplane::formats
