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

namespace {

const backplane::ops::AttributeValue* find(const Node& node, uint32_t id, backplane::ops::Kind kind) {
    for (const backplane::ops::AttributeValue& a : node.attributes)
        if (a.id == id && a.kind == kind) return &a;
    return nullptr;
}

}  // namespace

int64_t Node::integer(uint32_t id, int64_t otherwise) const {
    const backplane::ops::AttributeValue* a = find(*this, id, backplane::ops::Kind::integer);
    return a != nullptr ? a->integer : otherwise;
}

float Node::number(uint32_t id, double otherwise) const {
    const backplane::ops::AttributeValue* a = find(*this, id, backplane::ops::Kind::number);
    return static_cast<float>(a != nullptr ? a->number : otherwise);
}

std::vector<int64_t> Node::list(uint32_t id, std::vector<int64_t> otherwise) const {
    const backplane::ops::AttributeValue* a = find(*this, id, backplane::ops::Kind::integers);
    return a != nullptr ? std::vector<int64_t>(a->list.begin(), a->list.end()) : otherwise;
}

std::string Node::text() const {
    std::string out = sdk::op_name(op);
    if (!name.empty()) out.append(" '").append(name).append("'");
    return out.append(" (node ").append(std::to_string(index)).append(")");
}

}  // namespace backplane::backend
