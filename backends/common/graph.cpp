#include "common/graph.hpp"

#include <array>
#include <charconv>

namespace backplane::backend {

int64_t Value::elements() const {
    int64_t n = 1;
    for (const int64_t d : dim) n *= d;
    return n;
}

std::string Value::text() const {
    std::string out;
    append_text(out);
    return out;
}

void Value::append_text(std::string& to) const {
    to += sdk::dtype_info(dtype).name;
    to += '[';
    for (size_t i = 0; i < dim.size(); ++i) {
        if (i != 0) to += ',';
        append_number(to, dim[i]);
    }
    to += ']';
}

void append_number(std::string& to, int64_t number) {
    std::array<char, 24> digits;  // NOLINT(cppcoreguidelines-pro-type-member-init): written before it is read
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    to.append(digits.data(), static_cast<size_t>(end - digits.data()));
}

std::string Node::text() const {
    std::string out = sdk::op_name(op);
    if (!name.empty()) out.append(" '").append(name).append("'");
    return out.append(" (node ").append(std::to_string(index)).append(")");
}

}  // namespace backplane::backend
