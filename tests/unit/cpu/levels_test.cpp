// The levels that a build has. One that is missing would show in time alone: a weaker one computes the same.
#include "levels.hpp"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

namespace {

TEST(Levels, ThisBuildHasAllUnlessItWasAskedForFewer) {
    if (std::string_view(BP_TEST_CPU_LEVELS) != "")
        GTEST_SKIP() << "this build was asked for the levels '" << BP_TEST_CPU_LEVELS << "' alone (BACKPLANE_CPU_LEVELS)";
    EXPECT_EQ(backplane::cpu::built_levels(), (std::vector<std::string>{BP_TEST_ALL_CPU_LEVELS}));
}

}  // namespace
