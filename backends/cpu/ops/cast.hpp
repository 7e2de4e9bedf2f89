// Conversions between element types, for Cast and for whatever needs one on its way.
#pragma once

#include <cstddef>
#include <vector>

#include "lowering.hpp"

namespace backplane::cpu::ops::cast {

// Adds a step that converts every element; any two types but to a block type.
void add_cast(Lowering& to, const std::string& label, ValueId from, ValueId into);

// The bytes of one element of a plain type, saturating.
std::vector<std::byte> element_of(const ConvertKernels& kernels, double value, uint32_t dtype);

}  // namespace backplane::cpu::ops::cast
