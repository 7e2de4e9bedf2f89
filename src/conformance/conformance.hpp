// The conformance table: what every op must compute, on every device. docs/conformance.md explains the bounds.
//
//   for (const ConformanceCase& c : conformance_cases(Op::conv)) {
//       const CaseData data = c.build();                                  // graph and contents, the same on every machine
//       const std::vector<BoundedTensor> expected = expect(data);         // float64 results, and how far a device may be off
//       const Comparison verdict = compare(data, expected, output, bytes);
//   }
//
// One file per op in src/conformance/: its cases, and its rule for the error bound. An op without both does not link.
// All functions may be called from many threads; listing cases is cheap, building and expecting is not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "backplane/graph.hpp"
#include "graph/op_definition.hpp"

namespace backplane::graph {

// The bytes of one INPUT or WEIGHT.
struct TensorContent {
    TensorId tensor;
    std::vector<std::byte> bytes;
};

// A case on demand.
struct CaseData {
    Graph graph;
    std::vector<TensorContent> contents;  // of each INPUT and WEIGHT
    uint32_t math = BP_MATH_DEFAULT;      // what to compile with
};

class CaseBuilder;

struct ConformanceCase {
    std::string name;  // "Conv/3x3-f32", unique
    Op op = Op::unknown;
    std::function<void(CaseBuilder&)> describe;

    [[nodiscard]] CaseData build() const;
};

// In the order of the op's file.
std::vector<ConformanceCase> conformance_cases(Op op);

// ---- bounds ----------------------------------------------------------------------------------------------------------------

// A result in float64 and, element by element, how far from it a device may be. Bound 0: the value must be met exactly.
struct BoundedTensor {
    ReferenceTensor value;      // rounded to its dtype, as evaluate() rounds
    std::vector<double> bound;  // empty: all 0
};

// One node for the bound rule of its op.
struct BoundCall {
    const OpDefinition& definition;
    std::span<const ReferenceTensor* const> inputs;  // null: not given
    // How far the inputs themselves may be off, shaped as they are; null: they are exact.
    std::span<const ReferenceTensor* const> errors;
    const std::vector<Attribute>& attributes;
    const ReferenceTensor& output;     // not rounded
    std::span<const Operand> outputs;  // of the node; `output` is this one of them:
    size_t which = 0;
    double unit = 0;      // rounding unit of the arithmetic: 2^-53 for f64, else 2^-24 (float32)
    bool strict = false;  // BP_MATH_STRICT
};

// The bound of each element of the output, without the rounding to the output's dtype. Empty: exact.
using BoundRule = std::vector<double> (*)(const BoundCall&);

class CaseList;

// What src/conformance/NAME.cpp defines for its op.
struct OpConformance {
    void (*cases)(CaseList&) = nullptr;
    BoundRule bound = nullptr;
    bool moves_bytes = false;  // the results are the very bytes of the inputs
};
const OpConformance& conformance_of(Op op);  // throws Error(invalid) for an unknown op

#define BP_CONFORMANCE_DECLARATION(id, identifier, name) \
    namespace conformance::identifier {                  \
    extern const OpConformance conformance_##identifier; \
    }
BP_OPS(BP_CONFORMANCE_DECLARATION)
#undef BP_CONFORMANCE_DECLARATION

// One per tensor of the graph, with data where a node wrote it. Throws as evaluate() does.
std::vector<BoundedTensor> expect(const CaseData& data);

struct Comparison {
    bool passed = false;
    double worst = 0;  // largest error, as a part of its bound; infinity when a value that must be exact is not
    std::string text;  // of a failure: "y0[1, 2] is 0.5, should be 0.25 +- 1e-6; 3 of 12 elements are wrong"
};

// Compares what a device wrote for an output with what is expected of it.
Comparison compare(const CaseData& data, std::span<const BoundedTensor> expected, TensorId output,
                   std::span<const std::byte> bytes);

}  // namespace backplane::graph
