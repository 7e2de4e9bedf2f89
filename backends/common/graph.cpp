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

std::string Node::text() const {
    std::string out = sdk::op_name(op);
    if (!name.empty()) out.append(" '").append(name).append("'");
    return out.append(" (node ").append(std::to_string(index)).append(")");
}

}  // namespace backplane::backend
