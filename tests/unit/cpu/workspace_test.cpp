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

void expect_apart(const std::vector<Life>& lives, const Placed& all) {
    for (size_t a = 0; a < lives.size(); ++a) {
        EXPECT_LE(lives[a].offset + lives[a].bytes, all.bytes);
        for (size_t b = a + 1; b < lives.size(); ++b) {
            const bool together = lives[a].last >= lives[b].first && lives[b].last >= lives[a].first;
            const bool apart =
                lives[a].offset + lives[a].bytes <= lives[b].offset || lives[b].offset + lives[b].bytes <= lives[a].offset;
            EXPECT_TRUE(apart || !together) << a << " and " << b;
        }
    }
}

uint64_t sum_of(const std::vector<Life>& lives) {
    uint64_t sum = 0;
    for (const Life& life : lives) sum += life.bytes;
    return sum;
}

// Most live at once, as in a loop that is unrolled, whose steps are read in turn when it is done.
std::vector<Life> nested(size_t n, size_t sizes) {
    std::vector<Life> lives(2 * n);
    for (size_t i = 0; i < n; ++i) {
        lives[i].touch(i, 64 * (1 + i % sizes));
        lives[i].touch(2 * n - i, 0);
        lives[n + i].touch(n + i, 64 * (1 + i % sizes));
        lives[n + i].touch(n + i + 1, 0);
    }
    return lives;
}

TEST(Workspace, ValuesThatLiveAtATimeShareNoByte) {
    std::vector<Life> lives = lives_of(200);
    const Placed all = placed(lives);
    expect_apart(lives, all);
    EXPECT_LT(all.bytes, sum_of(lives) / 10);
}

TEST(Workspace, NorDoThoseOfManyThatLiveTogether) {
    for (const size_t sizes : {1, 13}) {
        std::vector<Life> lives = nested(1500, sizes);
        const Placed all = placed(lives);
        expect_apart(lives, all);
        EXPECT_LT(all.bytes, sum_of(lives) / 2 + 64 * 2 * 13 * sizes) << "half of them live at once";
    }
}

TEST(Workspace, ManyThatLiveTogetherAreNoMoreWorkEach) {
    std::vector<Life> thousand = nested(1000, 5), many = nested(30000, 5);
    EXPECT_LE(placed(many).visits, 30 * placed(thousand).visits);
}

// Steps of `each` values that live for some of them only, and one that lives to the end, where all of those are joined.
std::vector<Life> joined_at_the_end(size_t steps, size_t each) {
    std::vector<Life> lives(steps * each);
    for (size_t i = 0; i < lives.size(); ++i) {
        lives[i].touch(i, 64 * (1 + i % 4));
        lives[i].touch(i % each == each - 1 ? lives.size() : i + i % each / 2 + 1, 0);
    }
    return lives;
}

TEST(Workspace, StepsWhoseResultsAreJoinedAtTheEndShareTheRest) {
    std::vector<Life> lives = joined_at_the_end(60, 19);
    const Placed all = placed(lives);
    expect_apart(lives, all);
    EXPECT_LT(all.bytes, uint64_t{60 * 64 * 4 * 2}) << "what lives to the end, and few more";
}

TEST(Workspace, StepsWhoseResultsAreJoinedAtTheEndAreAsMuchWorkEach) {
    std::vector<Life> some = joined_at_the_end(100, 19), many = joined_at_the_end(1600, 19);
    EXPECT_LE(placed(many).visits, 20 * placed(some).visits);
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
