#include "common/workspace.hpp"

namespace backplane::backend {

uint64_t place(std::vector<Life*> lives) {
    std::stable_sort(lives.begin(), lives.end(), [](const Life* a, const Life* b) {
        return a->bytes != b->bytes ? a->bytes > b->bytes : a->first < b->first;
    });
    uint64_t total = 0;
    std::vector<const Life*> placed;  // by offset
    for (Life* life : lives) {
        for (const Life* other : placed) {
            if (other->last < life->first || life->last < other->first) continue;
            if (life->offset + life->bytes <= other->offset) break;
            life->offset = std::max(life->offset, other->offset + other->bytes);
        }
        total = std::max(total, life->offset + life->bytes);
        const auto behind = std::upper_bound(placed.begin(), placed.end(), life,
                                             [](const Life* a, const Life* b) { return a->offset < b->offset; });
        placed.insert(behind, life);
    }
    return total;
}

}  // namespace backplane::backend
