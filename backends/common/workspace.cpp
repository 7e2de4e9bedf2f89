#include "common/workspace.hpp"

namespace backplane::backend {

namespace {

constexpr size_t kWindow = 16;  // steps

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
