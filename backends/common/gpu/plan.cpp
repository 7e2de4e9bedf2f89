#include "common/gpu/plan.hpp"

namespace backplane::gpu {

ValueId Plan::constant(const std::vector<uint32_t>& words) {
    Value value;
    value.dtype = BP_I32;
    value.role = BP_ROLE_CONSTANT;
    value.dim = {static_cast<int64_t>(words.size())};
    const auto* bytes = reinterpret_cast<const std::byte*>(words.data());
    value.constant.assign(bytes, bytes + words.size() * sizeof(uint32_t));
    return add_value(std::move(value));
}

}  // namespace backplane::gpu
