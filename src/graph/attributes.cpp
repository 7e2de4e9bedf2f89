#include "graph/attributes.hpp"

#include <algorithm>

namespace backplane::graph {

namespace {

template <typename T>
const T& value_of(const Attribute& attribute) {
    const T* value = std::get_if<T>(&attribute.value);
    if (value == nullptr)
        throw Error(Code::internal,
                    std::string("attribute ") + name_of(attribute.id) + " is read as a type it does not have");
    return *value;
}

}  // namespace

const Attribute* AttributeView::find(Attr id) const noexcept {
    for (const Attribute& a : attributes_)
        if (a.id == id) return &a;
    return nullptr;
}

const Attribute& AttributeView::get(Attr id) const {
    const Attribute* found = find(id);
    if (found == nullptr)
        throw Error(Code::internal, std::string("attribute ") + name_of(id) + " is read but the node lacks it");
    return *found;
}

int64_t AttributeView::integer(Attr id) const { return value_of<int64_t>(get(id)); }
double AttributeView::number(Attr id) const { return value_of<double>(get(id)); }
const std::vector<int64_t>& AttributeView::integers(Attr id) const { return value_of<std::vector<int64_t>>(get(id)); }

void set(std::vector<Attribute>& attributes, Attribute attribute) {
    const auto at = std::lower_bound(attributes.begin(), attributes.end(), attribute,
                                     [](const Attribute& a, const Attribute& b) { return a.id < b.id; });
    if (at != attributes.end() && at->id == attribute.id) {
        *at = std::move(attribute);
    } else {
        attributes.insert(at, std::move(attribute));
    }
}

}  // namespace backplane::graph
