#include "common/gpu/plan.hpp"

#include <algorithm>
#include <cstring>

namespace backplane::gpu {

std::vector<int64_t> strides_of(const Value& value) {
    std::vector<int64_t> out(value.dim.size(), 1);
    for (size_t d = value.dim.size(); d-- > 1;) out[d - 1] = out[d] * value.dim[d];
    return out;
}

ValueId Plan::add_value(Value value) {
    const sdk::DTypeInfo info = sdk::dtype_info(value.dtype);
    if (value.bytes == 0) value.bytes = static_cast<uint64_t>(value.elements()) / info.block * info.bytes;
    values.push_back(std::move(value));
    return static_cast<ValueId>(values.size() - 1);
}

ValueId Plan::temporary(uint32_t dtype, std::vector<int64_t> dim) {
    Value value;
    value.dtype = dtype;
    value.dim = std::move(dim);
    return add_value(std::move(value));
}

ValueId Plan::constant(const std::vector<uint32_t>& words) {
    Value value;
    value.dtype = BP_I32;
    value.role = BP_ROLE_CONSTANT;
    value.dim = {static_cast<int64_t>(words.size())};
    const auto* bytes = reinterpret_cast<const std::byte*>(words.data());
    value.constant.assign(bytes, bytes + words.size() * sizeof(uint32_t));
    return add_value(std::move(value));
}

std::vector<uint32_t> Plan::users(ValueId value) const {
    std::vector<uint32_t> out;
    for (uint32_t i = 0; i < nodes.size(); ++i) {
        const Node& n = nodes[i];
        const bool reads = std::find(n.inputs.begin(), n.inputs.end(), value) != n.inputs.end() ||
                           std::any_of(n.post.begin(), n.post.end(), [&](const PostOp& p) { return p.value == value; });
        if (reads) out.push_back(i);
    }
    return out;
}

uint32_t Plan::only_user(ValueId value) const {
    if (values[value].role != BP_ROLE_TEMPORARY) return kNone;
    if (is_output(value)) return kNone;
    const auto readers = users(value);
    if (readers.size() != 1) return kNone;
    const Node& n = nodes[readers[0]];
    return std::count(n.inputs.begin(), n.inputs.end(), value) == 1 ? readers[0] : kNone;
}

bool Plan::is_output(ValueId value) const { return std::find(outputs.begin(), outputs.end(), value) != outputs.end(); }

ValueId Plan::storage_of(ValueId value, uint64_t* at) const {
    uint64_t distance = 0;
    while (values[value].inside != kNone) {
        distance += values[value].inside_at;
        value = values[value].inside;
    }
    if (at != nullptr) *at = distance;
    return value;
}

uint32_t Plan::producer(ValueId value) const {
    for (uint32_t i = 0; i < nodes.size(); ++i)
        if (nodes[i].output == value) return i;
    return kNone;
}

}  // namespace backplane::gpu
