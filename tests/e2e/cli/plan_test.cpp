#include <gtest/gtest.h>

#include "base/json.hpp"
#include "program.hpp"

namespace backplane::e2e {
namespace {

TEST(CliPlan, SaysStagesDevicesAndBytesBeforeAnythingRuns) {
    const Place p;
    const Outcome o = run(p, {"plan", "--model", p.model(), "--size", "32", "--device", "cpu", "--json"});
    ASSERT_EQ(o.exit_code, 0) << o.err;
    const auto json = base::Json::parse(o.out);
    ASSERT_EQ(json["stages"].size(), 1U);
    EXPECT_EQ(json["stages"][0]["device"], "cpu:0");
    EXPECT_EQ(json["stages"][0]["weights"], "resident");
    constexpr int kIn = 32 * 32 * 3 * 4;
    EXPECT_EQ(json["bytes_moved"], kIn + 4 * kIn) << "the picture in, and out at twice its width and height";
    EXPECT_GT(json["devices"][0]["weights"], 0);
    const Outcome words = run(p, {"plan", "--model", p.model(), "--size", "32", "--device", "cpu"});
    EXPECT_NE(words.out.find("stage 1 on cpu:0: "), std::string::npos) << words.out;
    EXPECT_NE(words.out.find("moved by one run"), std::string::npos) << words.out;
}

TEST(CliPlan, ADeviceThatIsNotThereIsOneLine) {
    const Place p;
    const Outcome o = run(p, {"plan", "--model", p.model(), "--device", "abacus"});
    EXPECT_EQ(o.exit_code, 1);
    EXPECT_TRUE(is_one_line(o.err)) << o.err;
}

}  // namespace
}  // namespace backplane::e2e
