// What an op is: its inputs and attributes, its shape and dtype rule, its float64 reference. One constant per op, each in
// src/graph/ops/NAME.cpp, all of them in the table below.
//
// All members are plain constants: nothing here runs when a module is loaded.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backplane/graph.hpp"
#include "graph/attributes.hpp"

namespace backplane::graph {

inline constexpr uint32_t kMostInputs = 1u << 16;  // of an op that takes any number

struct InputRule {
    const char* name;
    bool optional = false;
};

// An attribute an op takes, and what it is when a node does not state it.
struct AttributeRule {
    enum class Otherwise : uint32_t {
        required,  // an error
        stated,    // the default below, the one of ops.h
        derived    // filled in by OpDefinition::complete, from the shapes
    };
    Attr id = Attr::unknown;
    Otherwise otherwise = Otherwise::required;
    int64_t integer = 0;  // INT; INTS: the value of each of `count`
    double number = 0;    // FLOAT
    uint32_t count = 0;   // INTS
};

constexpr AttributeRule required(Attr id) { return {id, AttributeRule::Otherwise::required, 0, 0, 0}; }
constexpr AttributeRule derived(Attr id) { return {id, AttributeRule::Otherwise::derived, 0, 0, 0}; }
constexpr AttributeRule integer(Attr id, int64_t value) { return {id, AttributeRule::Otherwise::stated, value, 0, 0}; }
constexpr AttributeRule number(Attr id, double value) { return {id, AttributeRule::Otherwise::stated, 0, value, 0}; }
constexpr AttributeRule integers(Attr id, uint32_t count, int64_t each) {
    return {id, AttributeRule::Otherwise::stated, each, 0, count};
}

// An input as the shape rule sees it; dtype unknown: not given.
struct Operand {
    DType dtype = DType::unknown;
    Shape shape;
};

struct OpDefinition;

// One node for the shape rule: inputs (padded to the op's inputs) and complete attributes.
class InferCall {
public:
    InferCall(const OpDefinition& definition, std::string_view node, std::span<const Operand> inputs,
              std::span<const Attribute> attributes)
        : definition_(definition), node_(node), inputs_(inputs), attributes_(attributes) {}

    [[nodiscard]] size_t inputs() const { return inputs_.size(); }
    [[nodiscard]] bool has(size_t i) const { return i < inputs_.size() && inputs_[i].dtype != DType::unknown; }
    [[nodiscard]] const Shape& shape(size_t i) const { return inputs_[i].shape; }
    [[nodiscard]] DType dtype(size_t i) const { return inputs_[i].dtype; }
    [[nodiscard]] size_t rank(size_t i) const { return inputs_[i].shape.size(); }

    [[nodiscard]] const AttributeView& attributes() const { return attributes_; }
    [[nodiscard]] int64_t integer(Attr id) const { return attributes_.integer(id); }
    [[nodiscard]] double number(Attr id) const { return attributes_.number(id); }
    [[nodiscard]] const std::vector<int64_t>& integers(Attr id) const { return attributes_.integers(id); }

    // "w [64, 3, 3, 3]"; the second form with the dtype: "w f16 [64, 3, 3, 3]".
    [[nodiscard]] std::string text(size_t i) const;
    [[nodiscard]] std::string typed_text(size_t i) const;
    // Throws Error(invalid, "Conv 'name of the node': why").
    [[noreturn]] void refuse(const std::string& why) const;

private:
    const OpDefinition& definition_;
    std::string_view node_;
    std::span<const Operand> inputs_;
    AttributeView attributes_;
};

struct InferResult {
    DType dtype = DType::unknown;
    Shape shape;
};

// A dense row-major tensor of the reference. Integers are exact up to 2^53; an i64 beyond loses its low bits.
struct ReferenceTensor {
    Shape shape;
    DType dtype = DType::f32;
    std::vector<double> data;
};

// One node for the reference: inputs as for the shape rule (null: not given); the output has its shape and dtype, and
// data of zeros to be filled. The caller rounds the output to its dtype.
struct ReferenceCall {
    Op op = Op::unknown;
    std::span<const ReferenceTensor* const> inputs;
    AttributeView attributes;
    ReferenceTensor& output;

    [[nodiscard]] const ReferenceTensor& input(size_t i) const { return *inputs[i]; }
    [[nodiscard]] bool has(size_t i) const { return i < inputs.size() && inputs[i] != nullptr; }
};

struct OpDefinition {
    Op op = Op::unknown;
    const char* name = nullptr;     // "Conv"
    const char* summary = nullptr;  // one line for people
    std::span<const InputRule> inputs;
    std::span<const AttributeRule> attributes;
    // Fills in derived attributes and brings the others to the form ops.h asks for (no negative axis). May be null.
    // Called when a node is built, with all stated attributes and defaults there; a node read from plain data must
    // already be so.
    void (*complete)(const InferCall&, std::vector<Attribute>&) = nullptr;
    // Dtype and shape of the output. Throws Error(invalid) that names the op and the shapes.
    InferResult (*infer)(const InferCall&) = nullptr;
    // Float64 reference. Throws Error(invalid) for values that have no result, such as an index out of range.
    void (*reference)(const ReferenceCall&) = nullptr;
    bool any_number = false;  // the first input may come 1 to kMostInputs times

    [[nodiscard]] uint32_t least_inputs() const;
    [[nodiscard]] uint32_t most_inputs() const;
    [[nodiscard]] const AttributeRule* find(Attr id) const;
};

// Null when there is no such op. [any thread]
const OpDefinition* find_op(Op op) noexcept;

// Checks arity and attributes, fills in defaults, and applies the shape rule. Throws Error(invalid).
struct CheckedNode {
    std::vector<Attribute> attributes;  // complete, ascending id
    InferResult result;
};
CheckedNode check_node(const OpDefinition& definition, std::string_view node, std::vector<Operand> inputs,
                       const std::vector<Attribute>& attributes);

// A namespace for each, so that files of ops can share a compilation.
#define BP_OP_DECLARATION(id, identifier, name) \
    namespace ops::identifier {                 \
    extern const OpDefinition op_##identifier;  \
    }
BP_OPS(BP_OP_DECLARATION)
#undef BP_OP_DECLARATION

}  // namespace backplane::graph
