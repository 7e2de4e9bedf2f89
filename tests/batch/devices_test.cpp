// Several devices of one machine on one folder.
#include "many.hpp"

namespace backplane::batch_tests {
namespace {

TEST(Devices, ThreeShareTheFilesAndTheResultsAreThose) {
    const Many many(60);
    if (const std::string why = many.lacks_drivers(); !why.empty()) GTEST_SKIP() << why;
    const Outcome o = e2e::run(
        many.place(), many.command({"--devices", "cpu,vulkan:0,opencl:0", "--threads", "1", "--json"}), many.environment());
    ASSERT_EQ(o.exit_code, 0) << o.err;
    const std::vector<Json> all = objects(o.out);
    ASSERT_EQ(all.size(), 61U);
    std::map<std::string, size_t> by_device;
    for (const Json& one : all)
        if (one.contains("file")) ++by_device[one["device"].get<std::string>()];
    size_t files = 0;
    for (const Json& share : all.back()["summary"]["devices"]) {
        EXPECT_EQ(by_device[share["device"].get<std::string>()], share["files"].get<size_t>());
        files += share["files"].get<size_t>();
    }
    EXPECT_EQ(files, 60U);
    many.expect_each_once();
    // Which does how many depends on how fast they are; each can.
    for (const char* device : {"vulkan:0", "opencl:0"}) {
        const Outcome alone = e2e::run(many.place(), many.command({"--devices", device, "--again"}), many.environment());
        EXPECT_EQ(alone.exit_code, 0) << alone.err;
        EXPECT_NE(alone.out.find(std::string("  ") + device + ": 60 files"), std::string::npos) << alone.out;
    }
}

TEST(Devices, WithoutAChoiceSoftwareThatActsAsADeviceTakesNoPart) {
    const Many many(4);
    const Outcome o = e2e::run(many.place(), many.command({"--json"}), many.environment());
    ASSERT_EQ(o.exit_code, 0) << o.err;
    for (const Json& one : objects(o.out)) EXPECT_TRUE(!one.contains("file") || one["device"] == "cpu:0") << one;
    EXPECT_EQ(e2e::run(many.place(), many.command({"--devices", "nosuch"}), many.environment()).exit_code, 1);
    EXPECT_EQ(e2e::run(many.place(), many.command({"--devices", ","}), many.environment()).exit_code, 2);
}

}  // namespace
}  // namespace backplane::batch_tests
