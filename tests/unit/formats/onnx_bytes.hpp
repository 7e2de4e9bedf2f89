// ONNX files written for tests, over protobuf_bytes.hpp.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "protobuf_bytes.hpp"

namespace backplane::onnx_bytes {

inline constexpr uint64_t kF32 = 1, kU8 = 2, kI32 = 6, kI64 = 7, kBool = 9, kU32 = 12, kU64 = 13;

template <typename Number>
std::string raw(const std::vector<Number>& numbers) {
    std::string text(numbers.size() * sizeof(Number), '\0');
    if (!numbers.empty()) std::memcpy(text.data(), numbers.data(), text.size());
    return text;
}

// Extents: a number, or the name of one that is open ("" for none).
inline std::string value(const std::string& name, uint64_t type, const std::vector<std::string>& extents) {
    std::string shape;
    for (const std::string& extent : extents) {
        const bool number = !extent.empty() && extent.find_first_not_of("0123456789") == std::string::npos;
        shape += field(1, number ? field(1, std::stoull(extent)) : extent.empty() ? std::string() : field(2, extent));
    }
    return field(1, name) + field(2, field(1, field(1, type) + field(2, shape)));
}

inline std::string tensor(const std::string& name, uint64_t type, const std::vector<uint64_t>& shape,
                          const std::string& data) {
    std::string text;
    for (const uint64_t extent : shape) text += field(1, extent);
    return text + field(2, type) + field(8, name) + field(9, data);
}
inline std::string tensor(const std::string& name, const std::vector<uint64_t>& shape, const std::vector<float>& numbers) {
    return tensor(name, kF32, shape, raw(numbers));
}
inline std::string tensor_elsewhere(const std::string& name, const std::vector<uint64_t>& shape, const std::string& location,
                                    const std::string& offset) {
    std::string text;
    for (const uint64_t extent : shape) text += field(1, extent);
    const auto entry = [](const std::string& key, const std::string& of) { return field(13, field(1, key) + field(2, of)); };
    return text + field(2, kF32) + field(8, name) + entry("location", location) + entry("offset", offset) + field(14, 1);
}

inline std::string integer(const std::string& name, int64_t number) {
    return field(5, field(1, name) + field(3, static_cast<uint64_t>(number)) + field(20, 2));
}
inline std::string word(const std::string& name, const std::string& text) {
    return field(5, field(1, name) + field(4, text) + field(20, 3));
}
inline std::string integers(const std::string& name, const std::vector<int64_t>& numbers) {
    std::string text = field(1, name);
    for (const int64_t number : numbers) text += field(8, static_cast<uint64_t>(number));
    return field(5, text + field(20, 7));
}
inline std::string branch(const std::string& name, const std::string& graph) {
    return field(5, field(1, name) + field(6, graph) + field(20, 5));
}

// A node, as a field of a graph. `attributes`: of the functions above.
inline std::string node(const std::string& op, const std::vector<std::string>& inputs,
                        const std::vector<std::string>& outputs, const std::string& attributes = {}) {
    std::string text;
    for (const std::string& name : inputs) text += field(1, name);
    for (const std::string& name : outputs) text += field(2, name);
    return field(1, text + field(4, op) + attributes);
}
inline std::string initializer(const std::string& tensor_) { return field(5, tensor_); }
inline std::string input(const std::string& value_) { return field(11, value_); }
inline std::string output(const std::string& value_) { return field(12, value_); }

inline std::string model(const std::string& graph, uint64_t opset = 17) {
    return field(1, 8) + field(2, "tests") + field(8, field(2, opset)) + field(7, field(2, "a network") + graph);
}

// y = relu(x * w + b), x of [batch, 4], w of 4 x 3.
inline std::string dense_network() {
    return model(input(value("x", kF32, {"batch", "4"})) + output(value("y", kF32, {"batch", "3"})) +
                 initializer(tensor("w", {4, 3}, {1, 0, -1, 0, 1, 1, 2, -1, 0, 1, 1, 1})) +
                 initializer(tensor("b", {3}, {0.5F, -1, 0})) + node("MatMul", {"x", "w"}, {"p"}) +
                 node("Add", {"p", "b"}, {"s"}) + node("Relu", {"s"}, {"y"}));
}

}  // namespace backplane::onnx_bytes
