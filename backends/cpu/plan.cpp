#include "plan.hpp"

#include "common/strided.hpp"

namespace backplane::cpu {

int64_t pixels_of(const Value& map) {
    int64_t pixels = 1;
    for (size_t d = 2; d < map.dim.size(); ++d) pixels *= map.dim[d];
    return pixels;
}

std::vector<int64_t> strides_of(const Value& value) {
    if (value.layout == Layout::row_major) return backend::strides_of(value.dim);
    std::vector<int64_t> strides(value.dim.size(), 1);
    int64_t stride = value.dim[1];
    for (size_t d = value.dim.size(); d-- > 2;) {
        strides[d] = stride;
        stride *= value.dim[d];
    }
    strides[0] = stride;
    return strides;
}

ValueId Plan::temporary(uint32_t dtype, std::vector<int64_t> dim, Layout layout) {
    const ValueId made = PlanOf::temporary(dtype, std::move(dim));
    values[made].layout = layout;
    return made;
}

}  // namespace backplane::cpu
