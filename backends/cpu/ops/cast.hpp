// Conversions between element types, for Cast and for whatever needs one on its way.
#pragma once

#include <string>

#include "lowering.hpp"

namespace backplane::cpu::ops::cast {

// Adds a step that converts every element; any two types but to a block type.
void add_cast(Lowering& to, const std::string& label, ValueId from, ValueId into);

}  // namespace backplane::cpu::ops::cast
