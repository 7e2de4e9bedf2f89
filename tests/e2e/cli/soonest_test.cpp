// Without --device a command takes the device that ends it first, by what is kept of whole commands. Figures are told, not measured; the device that is
// preferred is scripted (tests/support/scripted), the other the build's CPU.
#include <gtest/gtest.h>

#include "base/json.hpp"
#include "program.hpp"
#include "registry/remembered.hpp"

namespace backplane::e2e {
namespace {

using base::Json;

class CliSoonest : public testing::Test {
protected:
    Outcome ran(std::vector<std::string> arguments, std::vector<std::string> environment = {}) const {
        arguments.insert(arguments.end(), {"--modules", std::string(BP_TEST_SCRIPTED) + "/1", "--option",
                                           "scripted.script=" + p.at("script")});
        environment.push_back("BACKPLANE_STATE_DIR=" + p.at("state"));
        return run(p, std::move(arguments), environment);
    }
    Json upscaled(const std::string& in, const std::vector<std::string>& more = {},
                  const std::vector<std::string>& environment = {}) const {
        std::vector<std::string> arguments{"upscale", in, p.at("out.png"), "--model", model, "--json"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        const Outcome o = ran(arguments, environment);
        EXPECT_EQ(o.exit_code, 0) << o.err;
        EXPECT_EQ(o.err, "");
        return Json::parse(o.out);
    }
    // The scripted device starts in 0.3 s and works 300 times as fast: 851 pixels are too few for it, 30,000 are not.
    void tell() const {
        const Json devices = Json::parse(
            R"([{"device":"scripted:0","cpu":false,"process":0.3,"begin":0.01,"work":[[851,0.001],[30000,0.01]]},
                {"device":"cpu:0","cpu":true,"process":0.01,"begin":0.01,"work":[[851,0.01],[30000,3]]}])");
        keep(devices.dump());
    }
    void keep(const std::string& times) const {
        const base::KeyedStore store = registry::whole_store(p.at("state"));
        const std::vector<base::StoredEntry> all = store.all();
        ASSERT_EQ(all.size(), 1U);
        base::StoredEntry entry = all.front();
        entry.fields["times"] = times;
        ASSERT_EQ(store.remember(entry.fields.at("key"), entry), "");
    }
    const Place p;
    const std::string model = p.model(), few = p.picture(), many = p.picture("many.png", 200, 150);
};

TEST_F(CliSoonest, WithNothingMeasuredThePreferredDeviceIsTakenAndTheNextCommandKnows) {
    const Json first = upscaled(few);
    EXPECT_EQ(first["device"], "scripted:0");
    EXPECT_EQ(first["whole"].size(), 0U);
    const Json remembered =
        Json::parse(run(p, {"modules", "remembered", "--json"}, {"BACKPLANE_STATE_DIR=" + p.at("state")}).out)["remembered"];
    size_t whole = 0;
    for (const Json& one : remembered) whole += one["kind"] == "whole" ? 1 : 0;
    EXPECT_EQ(whole, 1U);
    const Json second = upscaled(few);
    ASSERT_EQ(second["whole"].size(), 2U) << "measured at the end of the first";
    EXPECT_EQ(second["device"], second["whole"][0]["device"]);
    EXPECT_GT(second["whole"][0]["process_seconds"], 0);
}

TEST_F(CliSoonest, AFewPixelsAreForTheCpuManyForTheDeviceThatStartsSlowly) {
    static_cast<void>(upscaled(few));
    tell();
    const Json small = upscaled(few);
    EXPECT_EQ(small["device"], "cpu:0");
    EXPECT_EQ(small["why"], "cpu:0 ends the whole command first, in 0.03 s, scripted:0 in 0.31 s, without its files");
    EXPECT_EQ(small["placement"]["parts"][0]["device"], "cpu:0");
    const Json large = upscaled(many);
    EXPECT_EQ(large["device"], "scripted:0");
    EXPECT_EQ(large["whole"][1]["device"], "cpu:0");
    EXPECT_NEAR(large["whole"][1]["seconds"].get<double>(), 3.02, 1e-9);
}

TEST_F(CliSoonest, WhoNamesADeviceGetsIt) {
    static_cast<void>(upscaled(few));
    tell();
    EXPECT_EQ(upscaled(few, {"--device", "scripted"})["device"], "scripted:0");
    EXPECT_EQ(upscaled(many, {"--device", "cpu"})["device"], "cpu:0");
    EXPECT_EQ(upscaled(few, {}, {"BACKPLANE_DEVICE=scripted"})["device"], "scripted:0");
    EXPECT_EQ(upscaled(few, {"--device", "auto"})["device"], "cpu:0") << "auto names none";
    EXPECT_EQ(upscaled(few, {"--option", "cpu.threads=1"})["device"], "scripted:0") << "of so many threads nothing is known";
}

TEST_F(CliSoonest, APlanAndAFolderOfPicturesSayAndDoTheSame) {
    static_cast<void>(upscaled(few));
    tell();
    for (const auto& [size, device] : {std::pair("29", "cpu:0"), {"170", "scripted:0"}}) {
        const Outcome plan = ran({"plan", "--model", model, "--size", size, "--json"});
        ASSERT_EQ(plan.exit_code, 0) << plan.err;
        const Json json = Json::parse(plan.out);
        EXPECT_EQ(json["whole"][0]["device"], device) << size;
        EXPECT_EQ(json["ways"][0]["device"], device) << size;
    }
    const Outcome words = ran({"plan", "--model", model, "--size", "29"});
    EXPECT_NE(words.out.find("cpu:0 ends the whole command first, in "), std::string::npos) << words.out;
    fs::create_directory(p.at("to"));
    const Outcome folder = ran({"upscale", few, p.picture("other.png"), "--output", p.at("to"), "--model", model});
    ASSERT_EQ(folder.exit_code, 0) << folder.err;
    EXPECT_NE(folder.out.find(" on cpu:0"), std::string::npos) << folder.out;
    EXPECT_EQ(folder.out.find("scripted:0"), std::string::npos) << "its driver is not started: " << folder.out;
}

TEST_F(CliSoonest, WhatIsKeptAndWrongCostsNothing) {
    static_cast<void>(upscaled(few));
    for (const char* wrong : {"", "[]", "{", "[1]", R"([{"device":"cpu:0"}])",
                              R"([{"device":"cpu:0","cpu":true,"process":0,"begin":0,"work":[[9,1],[3,1]]}])",
                              R"([{"device":"gone:0","cpu":false,"process":0,"begin":0,"work":[[9,1]]}])"}) {
        keep(wrong);
        EXPECT_EQ(upscaled(few)["device"], "scripted:0") << wrong;
    }
}

}  // namespace
}  // namespace backplane::e2e
