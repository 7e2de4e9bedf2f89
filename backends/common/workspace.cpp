#include "common/workspace.hpp"

#include <map>
#include <queue>
#include <set>

namespace backplane::backend {

namespace {

constexpr size_t kWindow = 16;  // steps

// Visits after which the largest are no longer placed first: graphs of a thousand values, and all whose values live for some steps, stay below.
constexpr uint64_t most_visits(size_t lives) { return (uint64_t{1} << 20) + 256 * uint64_t{lives}; }

// Bytes that nobody has at a time, up to where all that was ever taken ends.
class Room {
public:
    // The smallest piece that is large enough, else at the end.
    uint64_t take(uint64_t bytes) {
        const auto found = by_size_.lower_bound({bytes, 0});
        if (found == by_size_.end()) {
            const uint64_t at = last_piece_at_end();
            if (at != end_) drop(at);
            end_ = at + bytes;
            return at;
        }
        const auto [size, at] = *found;
        drop(at);
        if (size > bytes) add(at + bytes, size - bytes);
        return at;
    }
    void give(uint64_t at, uint64_t bytes) {
        const auto behind = by_place_.find(at + bytes);
        if (behind != by_place_.end()) {
            bytes += behind->second;
            drop(behind->first);
        }
        const auto next = by_place_.lower_bound(at);
        if (next != by_place_.begin())
            if (const auto [place, size] = *std::prev(next); place + size == at) {
                drop(place);
                at = place;
                bytes += size;
            }
        add(at, bytes);
    }
    [[nodiscard]] uint64_t end() const { return end_; }

private:
    [[nodiscard]] uint64_t last_piece_at_end() const {
        if (by_place_.empty()) return end_;
        const auto [at, size] = *by_place_.rbegin();
        return at + size == end_ ? at : end_;
    }
    void add(uint64_t at, uint64_t bytes) {
        by_place_[at] = bytes;
        by_size_.insert({bytes, at});
    }
    void drop(uint64_t at) {
        const auto found = by_place_.find(at);
        by_size_.erase({found->second, at});
        by_place_.erase(found);
    }

    std::map<uint64_t, uint64_t> by_place_;            // size by place
    std::set<std::pair<uint64_t, uint64_t>> by_size_;  // size, place
    uint64_t end_ = 0;
};

// In the order in which they begin, each in what those that ended have left: what is best for values of one size, of which there are many where
// this is called, and nearly linear work.
Placed place_by_time(std::vector<Life*> lives) {
    std::stable_sort(lives.begin(), lives.end(), [](const Life* a, const Life* b) {
        return a->first != b->first ? a->first < b->first : a->bytes > b->bytes;
    });
    const auto ends_later = [](const Life* a, const Life* b) { return a->last > b->last; };
    std::priority_queue<const Life*, std::vector<const Life*>, decltype(ends_later)> alive(ends_later);
    Room room;
    Placed all;
    for (Life* life : lives) {
        for (; !alive.empty() && alive.top()->last < life->first; alive.pop())
            if (alive.top()->bytes != 0) room.give(alive.top()->offset, alive.top()->bytes);
        life->offset = life->bytes != 0 ? room.take(life->bytes) : 0;
        alive.push(life);
        ++all.visits;
    }
    all.bytes = room.end();
    return all;
}

}  // namespace

Placed place(std::vector<Life*> lives) {
    std::stable_sort(lives.begin(), lives.end(), [](const Life* a, const Life* b) {
        return a->bytes != b->bytes ? a->bytes > b->bytes : a->first < b->first;
    });
    Placed all;
    // What is placed, by windows of steps: most values live for a few steps only, and ask only those that live then, too.
    std::vector<std::vector<const Life*>> placed;
    std::vector<const Life*> beside;
    for (Life* life : lives) {
        const size_t first = life->first / kWindow, last = life->last / kWindow;
        if (last >= placed.size()) placed.resize(last + 1);
        beside.clear();
        if (all.visits > most_visits(lives.size())) {
            const uint64_t visits = all.visits;
            all = place_by_time(std::move(lives));
            all.visits += visits;
            return all;
        }
        for (size_t w = first; w <= last; ++w) {
            all.visits += placed[w].size();
            for (const Life* other : placed[w])
                if (other->last >= life->first && life->last >= other->first &&
                    w == std::max(first, other->first / kWindow))  // one of several windows is met once
                    beside.push_back(other);
        }
        std::sort(beside.begin(), beside.end(), [](const Life* a, const Life* b) { return a->offset < b->offset; });
        for (const Life* other : beside) {
            if (life->offset + life->bytes <= other->offset) break;
            life->offset = std::max(life->offset, other->offset + other->bytes);
        }
        all.bytes = std::max(all.bytes, life->offset + life->bytes);
        for (size_t w = first; w <= last; ++w) placed[w].push_back(life);
    }
    return all;
}

}  // namespace backplane::backend
