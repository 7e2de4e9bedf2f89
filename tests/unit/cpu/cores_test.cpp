// How many cores the CPUs are on that a process may use, of what systems say: two threads of one core share its matrix unit.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "processors.hpp"

namespace {

using backplane::cpu::cores_of;

TEST(Cores, AreCountedByTheListsOfTheirCpus) {
    EXPECT_EQ(cores_of({"0,32", "1,33", "0,32", "1,33"}, false, 64), 2u);
    EXPECT_EQ(cores_of({"0-1", "0-1", "2-3"}, true, 4), 2u);
    EXPECT_EQ(cores_of({"0-1"}, true, 2), 1u);
    // Threads turned off, or never there.
    EXPECT_EQ(cores_of({"0", "1", "2", "3"}, false, 4), 4u);
}

TEST(Cores, OfAGuestThatIsToldOfNoPairsAreHalfOfThoseOnline) {
    const std::vector<std::string> all{"0", "1", "2", "3", "4", "5", "6", "7"};
    EXPECT_EQ(cores_of(all, true, 8), 4u);
    // Two of many may well be on two cores.
    EXPECT_EQ(cores_of({"3", "6"}, true, 16), 2u);
    EXPECT_EQ(cores_of({"3", "6", "7"}, true, 4), 2u);
    EXPECT_EQ(cores_of({"0"}, true, 1), 1u);
}

TEST(Cores, ThatNobodyTellsOfAreHalfOfThoseOnline) {
    EXPECT_EQ(cores_of({"", "", "", ""}, false, 4), 2u);
    EXPECT_EQ(cores_of({"0-1", "", "2-3", "2-3"}, false, 4), 2u);
    EXPECT_EQ(cores_of({"", ""}, false, 0), 1u);
    EXPECT_EQ(cores_of({}, true, 0), 1u);
}

TEST(Cores, OfThisMachineAreNoMoreThanItsThreads) {
    EXPECT_GE(backplane::cpu::usable_cores(), 1u);
    EXPECT_LE(backplane::cpu::usable_cores(), std::max(1u, std::thread::hardware_concurrency()));
}

}  // namespace
