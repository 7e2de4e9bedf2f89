#include "plan.hpp"

#include <algorithm>

namespace backplane::cpu {

std::vector<int64_t> strides_of(const Value& value) {
    std::vector<int64_t> out(value.dim.size(), 1);
    if (value.layout == Layout::channels_last) {
        const int64_t c = value.dim[1];
        out = {value.dim[2] * value.dim[3] * c, 1, value.dim[3] * c, c};
        return out;
    }
    for (size_t d = value.dim.size(); d-- > 1;) out[d - 1] = out[d] * value.dim[d];
    return out;
}

ValueId Plan::add_value(Value value) {
    const sdk::DTypeInfo info = sdk::dtype_info(value.dtype);
    if (value.bytes == 0) value.bytes = static_cast<uint64_t>(value.elements()) / info.block * info.bytes;
    values.push_back(std::move(value));
    return static_cast<ValueId>(values.size() - 1);
}

ValueId Plan::temporary(uint32_t dtype, std::vector<int64_t> dim, Layout layout) {
    Value value;
    value.dtype = dtype;
    value.dim = std::move(dim);
    value.layout = layout;
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

int64_t Plan::uses(ValueId value) const {
    int64_t count = 0;
    for (const Node& n : nodes) {
        count += std::count(n.inputs.begin(), n.inputs.end(), value);
        count += std::count_if(n.post.begin(), n.post.end(), [&](const PostOp& p) { return p.value == value; });
    }
    return count;
}

uint32_t Plan::only_user(ValueId value) const {
    if (values[value].role != BP_ROLE_TEMPORARY) return kNone;
    if (std::find(outputs.begin(), outputs.end(), value) != outputs.end()) return kNone;
    const auto readers = users(value);
    if (readers.size() != 1) return kNone;
    const Node& n = nodes[readers[0]];
    return std::count(n.inputs.begin(), n.inputs.end(), value) == 1 ? readers[0] : kNone;
}

ValueId Plan::storage_of(ValueId value) const {
    while (values[value].same_storage_as != kNone) value = values[value].same_storage_as;
    return value;
}

uint32_t Plan::producer(ValueId value) const {
    for (uint32_t i = 0; i < nodes.size(); ++i)
        if (nodes[i].output == value) return i;
    return kNone;
}

}  // namespace backplane::cpu
