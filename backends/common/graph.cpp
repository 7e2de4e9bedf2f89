#include "common/graph.hpp"

namespace backplane::backend {

int64_t Value::elements() const {
    int64_t n = 1;
    for (const int64_t d : dim) n *= d;
    return n;
}

std::string Value::text() const {
    std::string out = sdk::dtype_info(dtype).name;
    out += "[";
    for (size_t i = 0; i < dim.size(); ++i) {
        if (i != 0) out += ',';
        out += std::to_string(dim[i]);
    }
    out += ']';
    return out;
}

int64_t Node::integer(uint32_t id, int64_t otherwise) const {
    const auto it = integers.find(id);
    return it != integers.end() ? it->second : otherwise;
}

float Node::number(uint32_t id, double otherwise) const {
    const auto it = numbers.find(id);
    return static_cast<float>(it != numbers.end() ? it->second : otherwise);
}

std::vector<int64_t> Node::list(uint32_t id, std::vector<int64_t> otherwise) const {
    const auto it = lists.find(id);
    return it != lists.end() ? it->second : otherwise;
}

std::string Node::text() const {
    std::string out = sdk::op_name(op);
    if (!name.empty()) out.append(" '").append(name).append("'");
    return out.append(" (node ").append(std::to_string(index)).append(")");
}

}  // namespace backplane::backend
