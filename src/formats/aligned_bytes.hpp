// Tensors of a mapped file as readers of elements need them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backplane/graph.hpp"

namespace backplane::formats {

class AlignedBytes {
public:
    // The bytes themselves where they begin at a multiple of an element's size (in blocks: of 4), else a copy, made when the name is asked for first,
    // that lives as long as this. Any thread.
    [[nodiscard]] std::span<const std::byte> of(std::string_view name, DType dtype, std::span<const std::byte> bytes) const {
        const uint64_t element = is_block(dtype) ? 4 : backplane::bytes(dtype, {1});
        if (reinterpret_cast<uintptr_t>(bytes.data()) % element == 0) return bytes;
        const std::lock_guard lock(mutex_);
        auto copy = copies_.find(name);
        if (copy == copies_.end()) copy = copies_.emplace(name, std::vector<std::byte>(bytes.begin(), bytes.end())).first;
        return copy->second;
    }
    // Whether such bytes are a copy.
    [[nodiscard]] bool is_copy(std::span<const std::byte> bytes) const {
        const std::lock_guard lock(mutex_);
        return std::any_of(copies_.begin(), copies_.end(),
                           [&](const auto& copy) { return copy.second.data() == bytes.data(); });
    }

private:
    mutable std::mutex mutex_;
    mutable std::map<std::string, std::vector<std::byte>, std::less<>> copies_;
};

}  // namespace backplane::formats
