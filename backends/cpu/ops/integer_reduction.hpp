// Reductions of i32 and i64: exact, sums wrap, means truncate.
#pragma once

#include <string>

#include "lowering.hpp"

namespace backplane::cpu {

// Adds the step of a reduction (reduce.cpp) over `count` elements each.
void add_integer_reduction(Lowering& to, const std::string& label, const Node& node, int64_t count);

}  // namespace backplane::cpu
