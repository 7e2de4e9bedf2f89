// One CPU seen through the cpu backend, PoCL and lavapipe: which is which, and which is chosen.
#include "machine.hpp"

namespace backplane::drivers {
namespace {

TEST(OneChip, IsTheCpusByDefaultAndAnyonesByName) {
    BP_NEEDS("vulkan", true);
    BP_NEEDS("opencl", true);
    const Place p;
    const Json all = devices(p, {}, quiet(p));
    EXPECT_EQ(all["chosen"], "cpu:0") << all["why"];
    EXPECT_EQ(device(all, "cpu:0")["same_chip_as"], "") << "it is the preferred one";
    EXPECT_EQ(device(all, "opencl:0")["kind"], "cpu");
    EXPECT_EQ(device(all, "opencl:0")["identity"], device(all, "cpu:0")["identity"]);
    EXPECT_EQ(device(all, "opencl:0")["same_chip_as"], "cpu:0");
    // lavapipe states a number of its own, which no other driver knows.
    EXPECT_EQ(device(all, "vulkan:0")["kind"], "software");
    EXPECT_EQ(device(all, "vulkan:0")["same_chip_as"], "");
    for (const char* id : {"cpu:0", "opencl:0", "vulkan:0"}) EXPECT_EQ(devices(p, {"--device", id}, quiet(p))["chosen"], id);
    EXPECT_EQ(devices(p, {"--device", "opencl"}, quiet(p))["chosen"], "opencl:0");
    EXPECT_EQ(devices(p, {"--device", "software,!reference"}, quiet(p))["chosen"], "vulkan:0");
}

TEST(OneChip, ASoftwareDeviceIsNotTakenEvenWhereNothingElseIs) {
    BP_NEEDS("vulkan", true);
    const Place p;
    const Outcome o = e2e::run(p, {"devices", "--json", "--no-cache", "--device", "!cpu"}, quiet(p));
    EXPECT_EQ(o.exit_code, 1);
    const Json report = Json::parse(o.out);
    EXPECT_FALSE(device(report, "vulkan:0").is_null());
    EXPECT_EQ(report["chosen"], "");
    EXPECT_NE(report["why"].get<std::string>().find("vulkan:0"), std::string::npos) << report["why"];
}

class ModuleFiles : public testing::Test {
protected:
    void SetUp() override {
        for (const char* backend : {"vulkan", "opencl"}) {
            BP_NEEDS(backend, true);
            if (how_built(backend) != "module") GTEST_SKIP() << backend << " is linked in: there is no file of it";
        }
        set_environment(quiet(place_));
    }
    [[nodiscard]] Report report_of(const std::vector<std::string>& backends) const {
        ContextOptions options = options_for(place_);
        options.module_paths.clear();
        for (const std::string& backend : backends)
            options.module_paths.push_back(fs::path(BP_TEST_MODULES) / test::library("backplane-" + backend));
        options.use_linked_in = false;
        return Context(options).report();
    }
    // All that tells a device from others.
    static std::map<std::string, std::string> known(const Report& report) {
        std::map<std::string, std::string> out;
        for (const DeviceInfo& d : report.devices)
            out[d.id] = d.name + " | " + d.identity + " | " + d.driver + " | " + d.same_chip_as + " | " +
                        std::to_string(d.fingerprint[0]) + " " + std::to_string(d.fingerprint[1]);
        return out;
    }
    const Place place_;
};

TEST_F(ModuleFiles, GiveTheSameDevicesInAnyOrderAndAgain) {
    if (!fs::exists(fs::path(BP_TEST_MODULES) / test::library("backplane-cpu")))
        GTEST_SKIP() << "cpu is linked in: there is no file of it";
    const Report first = report_of({"cpu", "vulkan", "opencl"});
    EXPECT_EQ(first.chosen, "cpu:0") << first.why;
    EXPECT_EQ(known(first).size(), 3U) << first.summary();
    for (const auto& order : {std::vector<std::string>{"cpu", "vulkan", "opencl"}, {"opencl", "vulkan", "cpu"}}) {
        const Report again = report_of(order);
        EXPECT_EQ(known(again), known(first));
        EXPECT_EQ(again.chosen, first.chosen);
    }
}

TEST_F(ModuleFiles, PoclIsTakenWhereTheCpuBackendIsMissing) {
    const Report report = report_of({"vulkan", "opencl"});
    EXPECT_EQ(report.chosen, "opencl:0") << report.why;
}

}  // namespace
}  // namespace backplane::drivers
