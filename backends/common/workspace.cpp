#include "common/workspace.hpp"

#include <iterator>
#include <queue>

#include "common/free_list.hpp"

namespace backplane::backend {

namespace {

constexpr size_t kWindow = 16;           // steps
constexpr size_t kFewWindows = 4;        // of what lives for some steps only
using Shelf = std::vector<const Life*>;  // in the order of their offsets

// Visits after which the largest are no longer placed first: graphs of a thousand values, and all whose values live for some steps, stay below.
constexpr uint64_t most_visits(size_t lives) { return (uint64_t{1} << 16) + 40 * uint64_t{lives}; }

bool together(const Life& a, const Life& b) { return a.last >= b.first && b.last >= a.first; }
constexpr auto lies_before = [](const Life* a, const Life* b) { return a->offset < b->offset; };

// What is placed, by windows of steps: most values live for a few steps only, and ask only those that live then, and those that live for long.
class Placing {
public:
    // The lowest offset that is free during its whole life.
    void find(Life& life) {
        shelves_.assign(1, {&long_, 0});
        for (size_t w = first_of(life); w <= last_of(life) && w < windows_.size(); ++w)
            shelves_.push_back({&windows_[w], 0});
        if (is_brief(life))
            among_few(life);
        else
            among_all(life);
    }
    void put(const Life& life) {
        if (!is_brief(life)) return put(long_, life);
        if (last_of(life) >= windows_.size()) windows_.resize(last_of(life) + 1);
        for (size_t w = first_of(life); w <= last_of(life); ++w) put(windows_[w], life);
    }
    [[nodiscard]] uint64_t visits() const { return visits_; }

private:
    struct At {
        const Shelf* shelf;
        size_t next;
    };

    static size_t first_of(const Life& life) { return life.first / kWindow; }
    static size_t last_of(const Life& life) { return life.last / kWindow; }
    static bool is_brief(const Life& life) { return last_of(life) - first_of(life) < kFewWindows; }
    static void put(Shelf& shelf, const Life& life) {
        shelf.insert(std::ranges::upper_bound(shelf, &life, lies_before), &life);
    }

    // Above what is placed there already; false: there is room below it.
    static bool passes(Life& life, const Life& other) {
        if (life.offset + life.bytes <= other.offset) return false;
        life.offset = std::max(life.offset, other.offset + other.bytes);
        return true;
    }
    // By turns of the shelves, to the first room that is large enough.
    void among_few(Life& life) {
        for (;;) {
            At* lowest = nullptr;
            for (At& at : shelves_) {
                for (; at.next < at.shelf->size() && !together(*(*at.shelf)[at.next], life); ++at.next) ++visits_;
                if (at.next < at.shelf->size() &&
                    (lowest == nullptr || lies_before((*at.shelf)[at.next], (*lowest->shelf)[lowest->next])))
                    lowest = &at;
            }
            ++visits_;
            if (lowest == nullptr || !passes(life, *(*lowest->shelf)[lowest->next++])) return;
        }
    }
    void among_all(Life& life) {
        beside_.clear();
        for (const At& at : shelves_) {
            visits_ += at.shelf->size();
            std::ranges::copy_if(*at.shelf, std::back_inserter(beside_),
                                 [&](const Life* other) { return together(*other, life); });
        }
        visits_ += 2 * beside_.size();  // which are sorted
        std::ranges::sort(beside_, lies_before);
        for (const Life* other : beside_)
            if (!passes(life, *other)) return;
    }

    std::vector<Shelf> windows_;
    Shelf long_, beside_;
    std::vector<At> shelves_;
    uint64_t visits_ = 0;
};

// Bytes that nobody has at a time, up to where all that was ever taken ends.
class Room {
public:
    // The smallest piece that is large enough, else at the end.
    uint64_t take(uint64_t bytes) {
        uint64_t at = 0;
        if (free_.take(bytes, at)) return at;
        at = free_.take_last(end_);
        end_ = at + bytes;
        return at;
    }
    void give(uint64_t at, uint64_t bytes) { free_.give(at, bytes); }
    [[nodiscard]] uint64_t end() const { return end_; }

private:
    FreeList free_;
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
    Placing placing;
    for (Life* life : lives) {
        if (placing.visits() > most_visits(lives.size())) {
            all = place_by_time(std::move(lives));
            all.visits += placing.visits();
            return all;
        }
        placing.find(*life);
        placing.put(*life);
        all.bytes = std::max(all.bytes, life->offset + life->bytes);
    }
    all.visits = placing.visits();
    return all;
}

}  // namespace backplane::backend
