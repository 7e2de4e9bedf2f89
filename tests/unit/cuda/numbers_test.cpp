// Numbers of registers and labels as distances come back as they were, and are the same wherever a piece of a kernel stands.
#include "numbers.hpp"

#include <gtest/gtest.h>

namespace backplane::cuda {
namespace {

TEST(NumbersByDistance, ComeBackWhateverStandsAroundThem) {
    for (const std::string text : {"",
                                   "%",
                                   "$",
                                   "%r",
                                   "%r7",
                                   "%r0 %r0 %r1",
                                   "%r2,%r1;%r3",
                                   "[%rd26+8], [%rd27+-4]",
                                   "mov %r1, %tid.x;",
                                   "%SP+16, %SPL",
                                   ".reg .pred \t%p<409>;",
                                   "@%p7 bra \t$L__BB16_330;\n$L__BB16_330:\n$L__BB16_12:",
                                   "$L__BB",
                                   "$L__BB7",
                                   "$L__BB_1",
                                   "%rs39, %r39, %rd39",
                                   "%f999999999 %f0",
                                   "100%",
                                   "bp_x_param_1+4",
                                   "%r5%r6"})
        EXPECT_EQ(by_number(by_distance(text)), text) << by_distance(text);
}

TEST(NumbersByDistance, AreTheSameForTheSamePieceElsewhere) {
    const std::string here = by_distance("add %r9, %r7, %rd3; mul %r10, %r9, %rd3;");
    const std::string there = by_distance("add %r209, %r207, %rd53; mul %r210, %r209, %rd53;");
    EXPECT_EQ(here, "add %r+9, %r-2, %rd+3; mul %r+3, %r-1, %rd+0;");
    EXPECT_EQ(here.substr(here.find(';')), there.substr(there.find(';')));
}

// What was unpacked of a module that is damaged is any text.
TEST(NumbersByDistance, OfNonsenseComeToAnEnd) {
    for (const std::string text : {"%r+", "%r-", "%r+99999999999999999999", "%r-5 %r-5", "%r++", "$L__BB1_-7"})
        EXPECT_FALSE(by_number(text).empty()) << text;
}

}  // namespace
}  // namespace backplane::cuda
