// Places in the workspace: no two values that live at a time share a byte, and the work grows with the values, not with their square.
#include "common/workspace.hpp"

#include <gtest/gtest.h>

namespace backplane::backend {
namespace {

// As a network of n steps has them: each result is read by the next step, each fourth four steps on, and a few to the end.
std::vector<Life> lives_of(size_t n) {
    std::vector<Life> lives(n);
    for (size_t i = 0; i < n; ++i) {
        const size_t reach = i < 3 ? n : i % 4 == 0 ? 4 : 1;
        lives[i].touch(i, 64 * (1 + i * 7 % 13));
        lives[i].touch(std::min(i + reach, n), 0);
    }
    return lives;
}

Placed placed(std::vector<Life>& lives) {
    std::vector<Life*> all;
    for (Life& life : lives) all.push_back(&life);
    return place(all);
}

TEST(Workspace, ValuesThatLiveAtATimeShareNoByte) {
    std::vector<Life> lives = lives_of(200);
    const Placed all = placed(lives);
    uint64_t sum = 0;
    for (size_t a = 0; a < lives.size(); ++a) {
        sum += lives[a].bytes;
        EXPECT_LE(lives[a].offset + lives[a].bytes, all.bytes);
        for (size_t b = a + 1; b < lives.size(); ++b) {
            const bool together = lives[a].last >= lives[b].first && lives[b].last >= lives[a].first;
            const bool apart =
                lives[a].offset + lives[a].bytes <= lives[b].offset || lives[b].offset + lives[b].bytes <= lives[a].offset;
            EXPECT_TRUE(apart || !together) << a << " and " << b;
        }
    }
    EXPECT_LT(all.bytes, sum / 10);
}

TEST(Workspace, TenTimesTheValuesAreTenTimesTheWork) {
    std::vector<Life> hundred = lives_of(100), thousand = lives_of(1000), many = lives_of(10000);
    const uint64_t base = placed(hundred).visits;
    EXPECT_GT(base, 100U);
    EXPECT_LE(placed(thousand).visits, 13 * base);
    EXPECT_LE(placed(many).visits, 130 * base);
}

}  // namespace
}  // namespace backplane::backend
