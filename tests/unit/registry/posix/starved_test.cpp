// A program that gets no processor is not one that hangs: a trial on a busy machine would say so of a sound module, and it would be kept out.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/process.hpp"

namespace backplane::base {
namespace {

using std::chrono::milliseconds;

class Starved : public testing::Test {
protected:
    void SetUp() override {
        if (!std::filesystem::exists("/proc/self/schedstat")) GTEST_SKIP() << "the system does not say who stands in line";
    }
    static ChildOutcome run(const char* how, milliseconds limit, milliseconds most) {
        return run_supervised(BP_TEST_STARVED_PROGRAM, {how}, limit, most);
    }
};

TEST_F(Starved, IsWaitedForAsLongAsItStandsInLine) {
    const ChildOutcome outcome = run("works", milliseconds(300), std::chrono::minutes(5));
    ASSERT_TRUE(outcome.started) << outcome.problem;
    if (outcome.exit_code == 2) GTEST_SKIP() << "no processor can be shared so here";
    EXPECT_FALSE(outcome.timed_out);
    EXPECT_EQ(outcome.record, "began\ndone\n");
    EXPECT_EQ(outcome.exit_code, 0);
}

TEST_F(Starved, AtTheEndOfAllTimeItHasBeenSilentForLittle) {
    const ChildOutcome outcome = run("works", milliseconds(300), milliseconds(900));
    ASSERT_TRUE(outcome.started) << outcome.problem;
    if (outcome.exit_code == 2) GTEST_SKIP() << "no processor can be shared so here";
    if (!outcome.timed_out) GTEST_SKIP() << "it was done sooner";
    EXPECT_LT(outcome.silent, milliseconds(300)) << "which would be a hang";
}

TEST_F(Starved, OneThatSleepsIsNot) {
    const ChildOutcome outcome = run("hangs", milliseconds(1500), std::chrono::minutes(5));
    ASSERT_TRUE(outcome.started) << outcome.problem;
    if (outcome.exit_code == 2) GTEST_SKIP() << "no processor can be shared so here";
    EXPECT_TRUE(outcome.timed_out);
    EXPECT_GE(outcome.silent, milliseconds(1500));
    EXPECT_EQ(outcome.record, "began\n");
}

}  // namespace
}  // namespace backplane::base
