// The free stretches of a block of memory that several buffers share.
#pragma once

#include <cstdint>
#include <iterator>
#include <map>

namespace backplane::gpu {

class FreeList {
public:
    FreeList() = default;
    explicit FreeList(uint64_t size) {
        if (size != 0) free_[0] = size;
    }

    // First fit. False: no stretch is long enough.
    bool take(uint64_t size, uint64_t& offset) {
        for (auto it = free_.begin(); it != free_.end(); ++it) {
            if (it->second < size) continue;
            offset = it->first;
            const uint64_t rest = it->second - size;
            free_.erase(it);
            if (rest != 0) free_[offset + size] = rest;
            return true;
        }
        return false;
    }

    // Gives a stretch back, joined with what is free on both sides; returns the length of the whole.
    uint64_t give(uint64_t offset, uint64_t size) {
        const auto next = free_.find(offset + size);
        if (next != free_.end()) {
            size += next->second;
            free_.erase(next);
        }
        const auto after = free_.lower_bound(offset);
        if (after != free_.begin()) {
            const auto before = std::prev(after);
            if (before->first + before->second == offset) {
                offset = before->first;
                size += before->second;
                free_.erase(before);
            }
        }
        free_[offset] = size;
        return size;
    }

private:
    std::map<uint64_t, uint64_t> free_;  // offset -> bytes
};

}  // namespace backplane::gpu
