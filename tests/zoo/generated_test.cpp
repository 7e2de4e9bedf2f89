// The combinations of the generated modules: what a seed chooses. What becomes of them is in tests/zoo/generated.
#include <gtest/gtest.h>

#include <set>

#include "zoo/generated/sample.hpp"

namespace zoo {
namespace {

TEST(GeneratedZoo, EachCombinationIsNamedByWordsThatReadBackAsItself) {
    std::set<std::string> names;
    for (const Plan& plan : all_plans()) {
        Plan again;
        ASSERT_TRUE(read(text_of(plan), again)) << text_of(plan);
        EXPECT_EQ(text_of(again), text_of(plan));
        EXPECT_TRUE(names.insert(text_of(plan)).second) << text_of(plan) << " is there twice";
    }
    Plan unused;
    for (const char* not_one :
         {"", "run", "run/crash/host/first", "run/crash/host/first/kept/", "run/crash/nobody/first/kept"})
        EXPECT_FALSE(read(not_one, unused)) << not_one;
}

TEST(GeneratedZoo, TheSameSeedChoosesTheSameAndAnotherOthers) {
    const auto names = [](uint64_t seed) {
        std::string all;
        for (const Plan& plan : sample(seed, 500)) all += text_of(plan) + "\n";
        return all;
    };
    EXPECT_EQ(names(7), names(7));
    EXPECT_NE(names(7), names(8));
    EXPECT_EQ(text_of(sample(1, 1).front()), "device_open/exit_3/child/second_start/kept") << "on every machine";
}

TEST(GeneratedZoo, TwoThousandHaveEachPairOfAPlaceAndAnActInThem) {
    std::set<std::pair<Place, Act>> possible, seen;
    for (const Plan& plan : all_plans()) possible.emplace(plan.place, plan.act);
    for (const Plan& plan : sample(3, 2000)) seen.emplace(plan.place, plan.act);
    EXPECT_EQ(seen, possible);
    EXPECT_GE(possible.size(), 500U);
    EXPECT_GE(all_plans().size(), 2000U);
}

}  // namespace
}  // namespace zoo
