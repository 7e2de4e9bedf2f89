// The rows of a backend's ops, which stand in the files of its folder ops/, by the number of an op.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <unordered_map>

namespace backplane::backend {

template <typename Row>
class OpRows {
public:
    explicit OpRows(std::initializer_list<std::span<const Row>> families) {
        for (const std::span<const Row> family : families)
            for (const Row& row : family) (row.op < first_.size() ? first_[row.op] : others_[row.op]) = &row;
    }
    // Null: there is none.
    [[nodiscard]] const Row* find(uint32_t op) const {
        if (op < first_.size()) return first_[op];
        const auto found = others_.find(op);
        return found != others_.end() ? found->second : nullptr;
    }

private:
    std::array<const Row*, 256> first_{};  // those of the op table: each pass of a compile asks for each node
    std::unordered_map<uint32_t, const Row*> others_;
};

}  // namespace backplane::backend
