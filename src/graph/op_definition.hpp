// What an op is in the host: its description (include/backplane/ops/) and its float64 reference. One constant an op, each in
// src/graph/ops/NAME.cpp, all of them in the table below.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backplane/graph.hpp"
#include "backplane/ops/table.hpp"
#include "graph/attributes.hpp"

namespace backplane::graph {

// An input as the shape rule sees it; dtype unknown: not given.
struct Operand {
    DType dtype = DType::unknown;
    Shape shape;
};

// A dense row-major tensor of the reference. Integers are exact up to 2^53; an i64 beyond loses its low bits.
struct ReferenceTensor {
    Shape shape;
    DType dtype = DType::f32;
    std::vector<double> data;
};

// One node for the reference: inputs as for the shape rule (null: not given); the outputs have their shapes and dtypes, and
// data of zeros to be filled. The caller rounds them to their dtypes.
struct ReferenceCall {
    Op op = Op::unknown;
    std::span<const ReferenceTensor* const> inputs;
    AttributeView attributes;
    ReferenceTensor& output;  // the first of
    std::span<ReferenceTensor> outputs;

    [[nodiscard]] const ReferenceTensor& input(size_t i) const { return *inputs[i]; }
    [[nodiscard]] bool has(size_t i) const { return i < inputs.size() && inputs[i] != nullptr; }
};

struct OpDefinition {
    const backplane::ops::Description& description;
    // Float64 reference. Throws Error(invalid) for values that have no result, such as an index out of range.
    void (*reference)(const ReferenceCall&);

    [[nodiscard]] Op op() const { return static_cast<Op>(description.id); }
    [[nodiscard]] const char* name() const { return description.name(); }
};

// Null when there is no such op. [any thread]
const OpDefinition* find_op(Op op) noexcept;

struct CheckedNode {
    std::vector<Attribute> attributes;  // complete, ascending id
    std::vector<Operand> outputs;
};

// How attributes come: as people write them (a negative axis, a -1 in a shape), or as graphs carry them.
enum class Form { written, final };

// Checks arity, types and attributes, fills in defaults, and applies the shape rule. Throws Error(invalid), "Conv 'name': why".
CheckedNode check_node(const OpDefinition& definition, std::string_view node, std::span<const Operand> inputs,
                       std::span<const Attribute> attributes, Form form = Form::written);
// The same of operands as rules see them, which operand_of() makes: of a shape that has passed check_tensor.
backplane::ops::Operand operand_of(DType dtype, const Shape& shape);
CheckedNode check_node(const OpDefinition& definition, std::string_view node,
                       std::span<const backplane::ops::Operand> inputs, std::span<const Attribute> attributes,
                       Form form = Form::written);

// A namespace for each, so that files of ops can share a compilation.
#define BP_OP_DECLARATION(id, identifier, name) \
    namespace ops::identifier {                 \
    extern const OpDefinition op_##identifier;  \
    }
BP_OPS(BP_OP_DECLARATION)
#undef BP_OP_DECLARATION

}  // namespace backplane::graph
