#include "plan.hpp"

#include "common/strided.hpp"

namespace backplane::cpu {

std::vector<int64_t> strides_of(const Value& value) {
    if (value.layout == Layout::row_major) return backend::strides_of(value.dim);
    const int64_t c = value.dim[1];
    return {value.dim[2] * value.dim[3] * c, 1, value.dim[3] * c, c};
}

ValueId Plan::temporary(uint32_t dtype, std::vector<int64_t> dim, Layout layout) {
    Value value;
    value.dtype = dtype;
    value.dim = std::move(dim);
    value.layout = layout;
    return add_value(std::move(value));
}

ValueId Plan::storage_of(ValueId value) const {
    while (values[value].same_storage_as != kNone) value = values[value].same_storage_as;
    return value;
}

}  // namespace backplane::cpu
