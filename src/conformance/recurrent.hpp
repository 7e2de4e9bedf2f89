// Cases and bound that the recurrent ops share.
#pragma once

#include "conformance/support.hpp"

namespace backplane::graph::recurrent {

// A node of either op: sizes, and which of the optional operands it has.
struct Recurrent {
    int64_t steps = 3, batch = 2, inputs = 3, hidden = 5;
    int64_t direction = BP_DIRECTION_FORWARD, layout = 0;
    bool bias = true, states = true, peepholes = false;
    std::vector<double> lengths = {};  // none: all rows are whole
    std::vector<Attribute> attributes = {};
    DType dtype = DType::f32;
    DType weights = DType::unknown;  // w and r; unknown: as the rest
    DType lengths_dtype = DType::i32;
    Source source = Source::weight;  // of w and r
};

// Adds the node; its results are those of the case.
std::vector<TensorId> add_node(CaseBuilder& b, Op op, const Recurrent& r);
void add(CaseList& list, const std::string& name, const Recurrent& r);
// Sizes, element types, directions, layouts, lengths: what means the same for both ops.
void add_common(CaseList& list);

// Errors as a random walk: each operation adds a few units of its result to what its operands bring along, as variances.
std::vector<double> bound(const BoundCall& call);

}  // namespace backplane::graph::recurrent
