#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/json.hpp"
#include "program.hpp"

namespace backplane::e2e {
namespace {

using base::Json;

TEST(CliDevices, TheJsonHasThePromisedShape) {
    const Place p;
    const Outcome o = run(p, {"devices", "--json"});
    ASSERT_EQ(o.exit_code, 0) << o.err;
    const Json json = Json::parse(o.out);
    EXPECT_EQ(json["chosen"], "cpu:0");
    EXPECT_TRUE(json["why"].is_string());
    ASSERT_GE(json["devices"].size(), 2U);
    for (const char* key : {"id", "name", "backend", "kind", "identity", "memory_total", "memory_free"})
        EXPECT_TRUE(json["devices"][0].contains(key)) << key;
    EXPECT_GT(json["devices"][0]["memory_total"], 0);
    EXPECT_FALSE(json["devices"][0]["memory_source"].get<std::string>().empty()) << "a figure says who it is from";
    for (const Json& device : json["devices"])
        EXPECT_TRUE(device["memory_total"] != 0 || device["memory_free"] == 0) << "unknown stays unknown: " << device;
}

TEST(CliDevices, VerboseSaysWhoHoldsHowMuchMemory) {
    const Place p;
    const Outcome o = run(p, {"devices", "--json", "--verbose"});
    ASSERT_EQ(o.exit_code, 0) << o.err;
    const Json json = Json::parse(o.out);
    ASSERT_EQ(json["memory"].size(), json["devices"].size());
    EXPECT_EQ(json["memory"][0]["device"], "cpu:0");
    EXPECT_GT(json["memory"][0]["total"], 0);
    EXPECT_EQ(json["memory"][0]["held"], 0) << "a list holds nothing";
    EXPECT_TRUE(json["memory"][0]["holders"].is_array());
    EXPECT_FALSE(Json::parse(run(p, {"devices", "--json"}).out).contains("memory"))
        << "it opens devices: only when asked for";
    const Outcome words = run(p, {"devices", "--verbose"});
    EXPECT_NE(words.out.find("held"), std::string::npos) << words.out;
}

TEST(CliDevices, TheVariableChoosesAndTheFlagIsStronger) {
    const Place p;
    EXPECT_EQ(Json::parse(run(p, {"devices", "--json"}, {"BACKPLANE_DEVICE=reference"}).out)["chosen"], "reference:0");
    EXPECT_EQ(Json::parse(run(p, {"devices", "--json", "--device", "cpu"}, {"BACKPLANE_DEVICE=reference"}).out)["chosen"],
              "cpu:0");
    const Outcome none = run(p, {"devices", "--json"}, {"BACKPLANE_DEVICE=nonsense"});
    EXPECT_EQ(none.exit_code, 1);
    EXPECT_NE(Json::parse(none.out)["why"].get<std::string>().find("nonsense"), std::string::npos);
}

TEST(CliDevices, AFolderOfTheUsersOwnIsSearched) {
    const Place p;
    const Outcome o = run(p, {"devices", "--json"}, {std::string("BACKPLANE_MODULE_PATH=") + BP_TEST_MINIMAL});
    EXPECT_NE(o.out.find("\"minimal:0\""), std::string::npos);
    EXPECT_NE(run(p, {"devices", "--json", "--modules", BP_TEST_MINIMAL}).out.find("\"minimal:0\""), std::string::npos);
}

TEST(CliDoctor, ABrokenModuleIsExplainedAndTheRestWorks) {
    const Place p;
    std::ofstream(p.at("backplane-broken.so")) << "rubbish";
    const Outcome o = run(p, {"doctor", "--json", "--modules", p.at("")});
    ASSERT_EQ(o.exit_code, 0) << o.err;
    const Json json = Json::parse(o.out);
    bool found = false;
    for (const Json& c : json["candidates"]) {
        if (c["path"].get<std::string>().find("broken") == std::string::npos) continue;
        found = true;
        EXPECT_EQ(c["verdict"], "rejected");
        EXPECT_EQ(c["code"], "not-a-module");
        EXPECT_FALSE(c["reason"].get<std::string>().empty());
    }
    EXPECT_TRUE(found);
    const Outcome text = run(p, {"doctor", "--modules", p.at("")});
    EXPECT_NE(text.out.find("backplane-broken.so"), std::string::npos);
    EXPECT_EQ(text.out.find("\033["), std::string::npos) << "no colours into a file";
}

TEST(CliDoctor, VariablesThatHideDevicesAreShown) {
    const Place p;
    EXPECT_NE(run(p, {"doctor"}, {"CUDA_VISIBLE_DEVICES=-1"}).out.find("CUDA_VISIBLE_DEVICES=-1"), std::string::npos);
}

TEST(CliModules, InspectRunsNothingAndSaysWhetherItWouldLoad) {
    const Place p;
    const Outcome good = run(p, {"modules", "inspect", std::string(BP_TEST_MINIMAL) + "/backplane-minimal.so", "--json"});
    EXPECT_EQ(good.exit_code, 0) << good.out;
    EXPECT_EQ(Json::parse(good.out)["backend"], "minimal");
    const Outcome bad = run(p, {"modules", "inspect", "/etc/passwd", "--json"});
    EXPECT_EQ(bad.exit_code, 1);
    EXPECT_EQ(Json::parse(bad.out)["code"], "not-a-module");
    EXPECT_EQ(run(p, {"modules", "inspect", "/no/such/file"}).exit_code, 1);
    EXPECT_EQ(run(p, {"modules", "list"}).exit_code, 0);
}

TEST(CliModules, InspectJudgesTheFolderOfAFileAsASearchDoes) {
    const Place p;
    const std::string file = p.at("backplane-minimal.so");
    std::filesystem::copy_file(std::string(BP_TEST_MINIMAL) + "/backplane-minimal.so", file);
    EXPECT_EQ(run(p, {"modules", "inspect", file}).exit_code, 0);
    std::filesystem::permissions(p.at(""), std::filesystem::perms(0777));
    const Outcome open = run(p, {"modules", "inspect", file, "--json"});
    std::filesystem::permissions(p.at(""), std::filesystem::perms(0700));
    EXPECT_EQ(open.exit_code, 1);
    const Json json = Json::parse(open.out);
    EXPECT_EQ(json["code"], "writable-by-others") << open.out;
    EXPECT_EQ(json["backend"], "minimal") << "what it says of itself is told all the same";
    EXPECT_NE(json["reason"].get<std::string>().find("everybody may write"), std::string::npos) << open.out;
}

TEST(CliModules, ATrialIsRememberedForgottenAndTrusted) {
    const Place p;
    const std::string file = p.at("backplane-wants-a-trial.so");
    fs::copy_file(std::string(BP_TEST_MINIMAL) + "/backplane-minimal.so", file);
    std::string bytes = content(file);
    bytes.replace(bytes.find(R"("probe":"none")"), 14, R"("probe":"child")" + std::string());
    // One byte longer would move what follows: the licence makes room.
    const size_t licence = bytes.find(R"("licence":"MIT")");
    if (licence != std::string::npos && licence < bytes.find(R"("probe":"child")")) bytes.erase(licence + 13, 1);
    std::ofstream(file, std::ios::binary) << bytes;
    const std::vector<std::string> state{"BACKPLANE_STATE_DIR=" + p.at("state")};
    EXPECT_EQ(run(p, {"devices", "--modules", file}, state).exit_code, 0);
    // Of this file; modules of the build may have been tried as well.
    auto remembered = [&] {
        Json found = Json::array();
        const Json all = Json::parse(run(p, {"modules", "remembered", "--json"}, state).out);
        for (const Json& t : all["remembered"])
            if (t["file"] == fs::canonical(file).string()) found.push_back(t);
        return found;
    };
    ASSERT_EQ(remembered().size(), 1U);
    EXPECT_EQ(remembered()[0]["outcome"], "good");
    EXPECT_NE(run(p, {"modules", "forget", file}, state).out.find("tried again"), std::string::npos);
    EXPECT_EQ(remembered().size(), 0U);
    EXPECT_EQ(run(p, {"modules", "trust", file}, state).exit_code, 0);
    ASSERT_EQ(remembered().size(), 1U);
    EXPECT_EQ(remembered()[0]["by_hand"], true);
    EXPECT_NE(run(p, {"modules", "forget"}, state).out.find(" forgotten"), std::string::npos);
    EXPECT_EQ(Json::parse(run(p, {"modules", "remembered", "--json"}, state).out)["remembered"].size(), 0U);
}

TEST(CliModules, WhatWasRememberedUnderAMaskIsForgottenByTheFileAloneAndAllOfItAtOnce) {
    const Place p;
    const std::string file = p.at("backplane-other.so");
    fs::copy_file(std::string(BP_TEST_MINIMAL) + "/backplane-minimal.so",
                  file);  // says that it needs no trial, and lies anywhere
    const std::vector<std::string> state{"BACKPLANE_STATE_DIR=" + p.at("state"), "BACKPLANE_CPU_MASK=avx512f"};
    EXPECT_EQ(run(p, {"devices", "--modules", file}, state).exit_code, 0);
    auto remembered = [&] { return Json::parse(run(p, {"modules", "remembered", "--json"}, state).out)["remembered"]; };
    auto of_the_file = [&] {
        const Json all = remembered();
        return std::count_if(all.begin(), all.end(),
                             [&](const Json& r) { return r["file"] == fs::canonical(file).string(); });
    };
    EXPECT_EQ(of_the_file(), 1) << "its word counts for nothing there: it was tried";
    const Outcome forgotten = run(p, {"modules", "forget", file, "--json"}, {"BACKPLANE_STATE_DIR=" + p.at("state")});
    EXPECT_EQ(Json::parse(forgotten.out)["files"][0]["forgotten"], 1) << forgotten.out;
    EXPECT_EQ(of_the_file(), 0);
    fs::create_directories(p.at("state/tuned"));
    std::ofstream(p.at("state/tuned/0123456789abcdef.json")) << "{}";  // of an earlier version
    EXPECT_EQ(run(p, {"modules", "forget"}, state).exit_code, 0);
    EXPECT_FALSE(fs::exists(p.at("state/tuned/0123456789abcdef.json")));
    EXPECT_TRUE(remembered().empty());
    EXPECT_NE(run(p, {"modules", "remembered"}, state).out.find("Nothing is remembered in"), std::string::npos);
}

TEST(CliVerify, AnOpPassesOnTheChosenDevice) {
    const Place p;
    const Outcome o = run(p, {"verify", "--op", "Relu", "--json"});
    EXPECT_EQ(o.exit_code, 0) << o.out;
    const Json json = Json::parse(o.out);
    EXPECT_GT(json["passed"], 5);
    EXPECT_EQ(json["failed"], 0);
}

TEST(CliBench, TheFiguresArePrinted) {
    const Place p;
    const Outcome o =
        run(p, {"bench", "esrgan", "--model", p.model(), "--size", "16", "--threads", "1", "--runs", "1", "--json"});
    ASSERT_EQ(o.exit_code, 0) << o.err;
    const Json json = Json::parse(o.out);
    for (const char* key : {"median_ms", "gflops", "peak_gflops", "runs"}) EXPECT_GT(json[key], 0) << key;
    EXPECT_EQ(run(p, {"bench", "discovery", "--runs", "2", "--json"}).exit_code, 0);
    EXPECT_EQ(run(p, {"bench", "ops", "--op", "Add", "--seconds", "0.01", "--json"}).exit_code, 0);
}

}  // namespace
}  // namespace backplane::e2e
