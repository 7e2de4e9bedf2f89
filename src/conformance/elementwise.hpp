// Cases that all element-wise ops share.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "conformance/bounds.hpp"
#include "conformance/support.hpp"

namespace backplane::graph {

// What distinguishes one element-wise op from the next.
struct ElementwisePlan {
    double least = -4, most = 4;           // where the op is well-conditioned
    double wide_least = 0, wide_most = 0;  // a wider range for float32; both 0: none
    std::vector<double> special = {};      // values with a result of their own: zeros, infinities, NaN
    std::vector<Attribute> attributes = {};
    bool integers = false;     // takes i32 and i64 too
    std::string suffix = {};   // of the names, for an op with several sets of attributes
    DType dtype = DType::f32;  // of most cases; where it is no float, of all but those of integers
};

void unary_cases(CaseList& list, const ElementwisePlan& plan);
// Of an op that makes whole numbers: halves, and numbers that have no fraction, are where it could go astray.
void rounding_cases(CaseList& list);

// For a op b. The range of b is `b`, that of a is the plan's.
struct BinaryPlan {
    Values a = {}, b = {};
    std::vector<std::pair<double, double>> special = {};
    bool integers = true;
    DType dtype = DType::f32;  // of most cases; where it is no float, of all but those of integers
    std::vector<Attribute> attributes = {};
    bool both_ways = true;  // either operand may be the one that is repeated
    bool floats = true;
    std::string suffix = {};  // of the names, for an op with several sets of attributes
};

void binary_cases(CaseList& list, const BinaryPlan& plan);

// Of a comparison of numbers: pairs that are equal, and such that differ in their last digit alone.
void comparison_cases(CaseList& list);
// Of an op of two truth values.
void logical_cases(CaseList& list);

// Pairs for which the arithmetic of IEEE 754 has rules of its own: infinities, NaN, signed zeros.
std::vector<std::pair<double, double>> arithmetic_specials();

}  // namespace backplane::graph
