#include "common/gpu/plan.hpp"

#include "common/strided.hpp"

namespace backplane::gpu {

std::vector<int64_t> strides_of(const Value& value) { return backend::strides_of(value.dim); }

ValueId Plan::constant(const std::vector<uint32_t>& words) {
    Value value;
    value.dtype = BP_I32;
    value.role = BP_ROLE_CONSTANT;
    value.dim = {static_cast<int64_t>(words.size())};
    const auto* bytes = reinterpret_cast<const std::byte*>(words.data());
    value.constant.assign(bytes, bytes + words.size() * sizeof(uint32_t));
    return add_value(std::move(value));
}

ValueId Plan::storage_of(ValueId value, uint64_t* at) const {
    uint64_t distance = 0;
    while (values[value].inside != kNone) {
        distance += values[value].inside_at;
        value = values[value].inside;
    }
    if (at != nullptr) *at = distance;
    return value;
}

}  // namespace backplane::gpu
