// The attributes of one node, read and written by id.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backplane/graph.hpp"

namespace backplane::graph {

// BP_ATTRIBUTE_INT, _FLOAT or _INTS; 0 when there is no such attribute.
uint32_t type_of(Attr attr) noexcept;

// Reads the attributes of a node. Points into them. The getters throw Error(internal) when the attribute is not there:
// every node of a Graph has all attributes its op takes.
class AttributeView {
public:
    explicit AttributeView(std::span<const Attribute> attributes) : attributes_(attributes) {}
    [[nodiscard]] const Attribute* find(Attr id) const noexcept;
    [[nodiscard]] int64_t integer(Attr id) const;
    [[nodiscard]] double number(Attr id) const;
    [[nodiscard]] const std::vector<int64_t>& integers(Attr id) const;

private:
    [[nodiscard]] const Attribute& get(Attr id) const;
    std::span<const Attribute> attributes_;
};

// Replaces or inserts, keeping ids ascending.
void set(std::vector<Attribute>& attributes, Attribute attribute);

}  // namespace backplane::graph
