// Stretches of memory that nobody has: what comes back is joined with what is free beside it.
#pragma once

#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <utility>

namespace backplane::backend {

class FreeList {
public:
    FreeList() = default;
    explicit FreeList(uint64_t size) {
        if (size != 0) add(0, size);
    }

    // The shortest that is long enough. False: none is.
    bool take(uint64_t size, uint64_t& offset) {
        const auto found = by_size_.lower_bound({size, 0});
        if (found == by_size_.end()) return false;
        const auto [room, at] = *found;
        drop(at);
        if (room > size) add(at + size, room - size);
        offset = at;
        return true;
    }
    // Takes the last one where it ends at `end`: returns where it begins; else `end`.
    uint64_t take_last(uint64_t end) {
        if (by_place_.empty()) return end;
        const auto [at, size] = *by_place_.rbegin();
        if (at + size != end) return end;
        drop(at);
        return at;
    }
    // Returns how long the whole is that is free there now.
    uint64_t give(uint64_t offset, uint64_t size) {
        const auto behind = by_place_.find(offset + size);
        if (behind != by_place_.end()) {
            size += behind->second;
            drop(behind->first);
        }
        const auto next = by_place_.lower_bound(offset);
        if (next != by_place_.begin())
            if (const auto [at, room] = *std::prev(next); at + room == offset) {
                drop(at);
                offset = at;
                size += room;
            }
        add(offset, size);
        return size;
    }

private:
    void add(uint64_t at, uint64_t size) {
        by_place_[at] = size;
        by_size_.insert({size, at});
    }
    void drop(uint64_t at) {
        const auto found = by_place_.find(at);
        by_size_.erase({found->second, at});
        by_place_.erase(found);
    }

    std::map<uint64_t, uint64_t> by_place_;            // size by place
    std::set<std::pair<uint64_t, uint64_t>> by_size_;  // size, place
};

}  // namespace backplane::backend
