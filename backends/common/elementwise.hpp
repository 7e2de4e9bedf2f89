// The element-wise ops of the op table whose result has the type of their operands: a backend has kernels for all of them, and no list.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "backplane/ops/table.hpp"

namespace backplane::backend {

using ops::is_elementwise;

constexpr size_t elementwise_ops() {
    size_t n = 0;
    for (const ops::Description* op : ops::kTable) n += is_elementwise(*op, 1) || is_elementwise(*op, 2) ? 1 : 0;
    return n;
}

// A row for each: unary(op) or binary(op).
template <typename Row>
constexpr std::array<Row, elementwise_ops()> elementwise_rows(Row (*unary)(uint32_t), Row (*binary)(uint32_t)) {
    std::array<Row, elementwise_ops()> rows{};
    size_t n = 0;
    for (const ops::Description* op : ops::kTable) {
        if (is_elementwise(*op, 1)) rows[n++] = unary(op->id);
        if (is_elementwise(*op, 2)) rows[n++] = binary(op->id);
    }
    return rows;
}

}  // namespace backplane::backend
