// ONNX models as plain data (onnx.proto, IR versions 3 to 12): what of the file a converter needs, checked no further than that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backplane/graph.hpp"

namespace backplane::formats {

// Dense and row-major.
struct OnnxTensor {
    std::string name;
    DType dtype = DType::unknown;
    Shape shape;
    std::vector<std::byte> data;            // bytes(dtype, shape); empty where the next has them
    std::span<const std::byte> in_place{};  // in the file, which outlives the tensor; at any alignment
    std::string weight{};                   // what a graph calls it as a weight; empty: it is none (prepare.hpp)
    bool is_unsigned = false;               // of ONNX's uint32 or uint64, whose bits i32 or i64 hold (rules_unsigned.cpp)

    [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return data.empty() ? in_place : data; }
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
    bool is_tensor = false;              // not a sequence, a map or an optional value
    DType dtype = DType::unknown;        // of a type that graphs do not have
    Shape shape;                         // an extent that the file leaves open is -1
    std::vector<std::string> symbols{};  // the names of such extents, as many as there are axes; empty: none
    bool has_shape = true;               // false: not even the number of axes is known
    int64_t type = 0;                    // as the file has it, TensorProto::DataType
    bool is_unsigned = false;            // uint32 or uint64, held as i32 or i64
};

struct OnnxModel {
    int64_t opset = 0;            // of the operators of ONNX itself
    std::vector<OnnxNode> nodes;  // each after those whose results it takes
    std::vector<OnnxTensor> initializers;
    std::vector<OnnxValue> inputs, outputs;
    int64_t ir_version = 0;
    std::string name, producer, producer_version, description;
    std::map<std::string, std::string> metadata;
};

// The bytes of another file that tensors lie in, by its name in the model; they outlive it. Throws what says why there are none.
using OnnxFiles = std::function<std::span<const std::byte>(const std::string& location)>;

// Trust nothing in the bytes. `file` is for messages. Throw Error: corrupt (not the wire format, tensors of another size than they say, or beyond the
// end of another file), unsupported (tensors in other files where there are no `files`, or of types that graphs do not have: strings, complex
// numbers). The tensors of a model point into `bytes` where they lie there as they are; a tensor on its own has a copy.
OnnxModel parse_onnx(std::span<const std::byte> bytes, const std::string& file, const OnnxFiles& files = {});
OnnxTensor parse_onnx_tensor(std::span<const std::byte> bytes, const std::string& file);

// TensorProto::DataType; unknown: a type that graphs do not have.
DType dtype_of_onnx(int64_t type) noexcept;
// The same, and for uint32 and uint64 the signed type that holds their bits.
struct OnnxHeld {
    DType dtype = DType::unknown;
    bool is_unsigned = false;
};
OnnxHeld held_as_onnx(int64_t type) noexcept;
// What ONNX calls it: "string", "uint32".
std::string_view name_of_onnx(int64_t type) noexcept;

}  // namespace backplane::formats
