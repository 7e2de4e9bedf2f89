// --place auto: where a network would be done first by what work costs, and what was predicted beside what came of it. Costs are told, not measured.
#include <gtest/gtest.h>

#include "base/json.hpp"
#include "costs_told.hpp"
#include "onnx_bytes.hpp"

namespace backplane::e2e {
namespace {

void expect_predicted(const base::Json& json) {
    const base::Json& predicted = json["predicted"];
    EXPECT_EQ(predicted["device"], "cpu:0");
    EXPECT_EQ(predicted["known"], true) << json;
    for (const char* field : {"predicted_seconds", "seconds", "planned"}) EXPECT_GT(predicted[field], 0) << field;
    EXPECT_GE(predicted["held"], 0) << "of the host's memory that is used where it lies nobody holds anything";
    EXPECT_EQ(predicted["problem"], "");
}

TEST(CliPlace, AutoUpscalesWhereItIsDoneFirstAndEachRunTeaches) {
    const Place p;
    const std::vector<std::string> told = told_costs(p);
    const std::string model = p.model(), in = p.picture();
    const auto upscaled = [&](const std::vector<std::string>& more) {
        std::vector<std::string> arguments{"upscale", in, p.at("out.png"), "--model", model};
        arguments.insert(arguments.end(), more.begin(), more.end());
        const Outcome o = run(p, arguments, told);
        EXPECT_EQ(o.exit_code, 0) << o.err;
        return o.out;
    };
    const base::Json first = base::Json::parse(upscaled({"--place", "auto", "--json"}));
    EXPECT_EQ(first["place"]["devices"][0], "cpu:0");
    EXPECT_NE(first["why"].get<std::string>().find("all on cpu:0, done first by what work costs: "), std::string::npos);
    expect_predicted(first);
    EXPECT_EQ(first["predicted"]["learnt"], 1);
    EXPECT_EQ(first["predicted"]["runs"], 0);
    const base::Json among = base::Json::parse(upscaled({"--place", "auto=cpu", "--json"}));
    EXPECT_EQ(among["place"]["devices"], base::Json::array({"cpu:0"}));
    const std::string written = content(p.at("out.png"));
    const base::Json second = base::Json::parse(upscaled({"--device", "cpu", "--json"}));
    EXPECT_NE(second["predicted"]["learnt"], 1) << "the first run taught it";
    EXPECT_EQ(second["predicted"]["runs"], 2) << "so did the one among a device alone";
    EXPECT_EQ(content(p.at("out.png")), written);
    const std::string words = upscaled({"--device", "cpu", "--verbose"});
    EXPECT_NE(words.find("a tile on cpu:0: "), std::string::npos) << words;
    EXPECT_NE(words.find(" ms predicted (corrected by 3 runs), "), std::string::npos) << words;
}

TEST(CliPlace, AutoPlansAndTheTimeOfEachWayIsSaid) {
    const Place p;
    const std::vector<std::string> told = told_costs(p);
    const std::vector<std::string> plan{"plan", "--model", p.model(), "--place", "auto"};
    std::vector<std::string> as_json = plan;
    as_json.emplace_back("--json");
    const base::Json json = base::Json::parse(run(p, as_json, told).out);
    EXPECT_EQ(json["place"]["devices"][0], "cpu:0");
    EXPECT_GT(json["ways"][0]["seconds"], 0);
    const Outcome among = run(p, {"plan", "--model", p.model(), "--place", "auto=cpu", "--json"}, told);
    ASSERT_EQ(among.exit_code, 0) << among.err;
    EXPECT_EQ(base::Json::parse(among.out)["place"]["devices"], base::Json::array({"cpu:0"}));
    const Outcome words = run(p, plan, told);
    EXPECT_NE(words.out.find("all on cpu:0, done first by what work costs"), std::string::npos) << words.out;
    EXPECT_NE(words.out.find(" TIME"), std::string::npos) << words.out;
    EXPECT_EQ(json["ways"][0]["learnt"], 1);
    EXPECT_EQ(json["ways"][0]["runs"], 0);
    EXPECT_EQ(json["ways"][0]["networks"], 0);
    EXPECT_EQ(words.out.find(" runs"), std::string::npos) << "nothing ran yet: " << words.out;
    const Outcome unknown =
        run(p, {"plan", "--model", p.model(), "--device", "cpu"}, {"BACKPLANE_STATE_DIR=" + p.at("none")});
    EXPECT_NE(unknown.out.find("What work costs there is not known"), std::string::npos) << unknown.out;
}

// What was learnt of a network is said beside each time that rests on it, by how many runs; of a network that never ran, by how many others.
TEST(CliPlace, APlanSaysByHowManyRunsItsTimesAreCorrected) {
    const Place p;
    const std::vector<std::string> told = told_costs(p);
    const std::string model = p.model(), in = p.picture();
    const std::vector<std::string> plan{"plan", "--model", model, "--size", "32", "--device", "cpu"};
    std::vector<std::string> as_json = plan;
    as_json.emplace_back("--json");
    for (const char* many : {"1 run", "2 runs"}) {
        const Outcome ran =
            run(p, {"upscale", in, p.at("out.png"), "--model", model, "--device", "cpu", "--tile", "32"}, told);
        ASSERT_EQ(ran.exit_code, 0) << ran.err;
        const Outcome words = run(p, plan, told);
        EXPECT_NE(words.out.find("CORRECTED BY"), std::string::npos) << words.out;
        EXPECT_NE(words.out.find(std::string("  ") + many + "\n"), std::string::npos) << words.out;
    }
    const base::Json json = base::Json::parse(run(p, as_json, told).out);
    EXPECT_EQ(json["ways"][0]["runs"], 2);
    EXPECT_NE(json["ways"][0]["learnt"], 1);
    EXPECT_EQ(json["ways"][0]["networks"], 0);
}

// A record that is cut off or changed costs what it said, one line of the log, and nothing else.
TEST(CliPlace, ADamagedRecordOfCostsIsSaidOnceAndPlannedWithout) {
    const Place p;
    const std::vector<std::string> told = told_costs(p);
    const std::string model = p.model(), in = p.picture();
    const std::vector<std::string> upscale{"upscale", in, p.at("out.png"), "--model", model, "--device", "cpu"};
    ASSERT_EQ(run(p, upscale, told).exit_code, 0);
    for (const char* folder : {"times", "costs"}) {
        for (const auto& entry : std::filesystem::directory_iterator(p.at(std::string("state/") + folder)))
            std::filesystem::resize_file(entry.path(), entry.file_size() / 2);
        const Outcome o = run(p, {"plan", "--model", model, "--device", "cpu", "--verbose"}, told);
        ASSERT_EQ(o.exit_code, 0) << o.err;
        EXPECT_EQ(o.out.find(" run\n"), std::string::npos) << o.out;
        const std::string words = "what work costs on cpu:0: ";
        const size_t at = o.err.find(words);
        ASSERT_NE(at, std::string::npos) << o.err;
        EXPECT_NE(o.err.find(" is damaged", at), std::string::npos) << o.err;
    }
    const Outcome again = run(p, upscale, told);
    EXPECT_EQ(again.exit_code, 0) << again.err;
    EXPECT_EQ(again.err, "") << "nothing of it where nobody asks";
}

TEST(CliPlace, AutoRunsAFileOfOnnx) {
    const Place p;
    const std::vector<std::string> told = told_costs(p);
    std::ofstream(p.at("dense.onnx"), std::ios::binary) << onnx_bytes::dense_network();
    const Outcome o = run(p, {"run", p.at("dense.onnx"), "--input", "zeros:5x4", "--place", "auto", "--json"}, told);
    ASSERT_EQ(o.exit_code, 0) << o.err;
    const base::Json json = base::Json::parse(o.out);
    EXPECT_EQ(json["place"]["devices"][0], "cpu:0");
    expect_predicted(json);
    const Outcome among = run(p, {"run", p.at("dense.onnx"), "--input", "zeros:5x4", "--place", "auto=cpu", "--json"}, told);
    ASSERT_EQ(among.exit_code, 0) << among.err;
    EXPECT_EQ(base::Json::parse(among.out)["place"]["devices"], base::Json::array({"cpu:0"}));
    const Outcome words = run(p, {"run", p.at("dense.onnx"), "--input", "zeros:5x4", "--device", "cpu", "--verbose"},
                              {"BACKPLANE_STATE_DIR=" + p.at("none")});
    EXPECT_NE(words.err.find("what work costs on cpu:0 is not known"), std::string::npos) << words.err;
}

TEST(CliPlace, WhatMakesNoSenseIsWrongUse) {
    const Place p;
    const std::vector<std::string> told = told_costs(p);
    const std::string model = p.model(), in = p.picture();
    for (const std::vector<std::string>& wrong :
         {std::vector<std::string>{"upscale", in, p.at("out.png"), "--model", model, "--place", "everywhere"},
          {"upscale", in, p.at("out.png"), "--model", model, "--place", "encoder=cpu:0"},
          {"upscale", in, p.at("out.png"), "--model", model, "--place", "auto=cpu+"},
          {"upscale", in, p.at("out.png"), "--model", model, "--place", "auto=abacus"},
          {"plan", "--model", model, "--place", "auto=cpu+abacus:0"},
          {"upscale", in, p.at("out.png"), "--model", model, "--place", "auto", "--device", "cpu"},
          {"plan", "--model", model, "--place", "encoder=cpu:0,decoder=cpu:0"},
          {"plan", "--model", model, "--place", "auto", "--what-if", p.at("cards.json")}}) {
        const Outcome o = run(p, wrong, told);
        EXPECT_EQ(o.exit_code, 2) << o.out;
        EXPECT_TRUE(is_one_line(o.err)) << o.err;
    }
    // What may be named, and is not here, is no wrong use.
    const Outcome none = run(p, {"plan", "--model", model, "--place", "auto=discrete,!cpu,!software"}, told);
    EXPECT_EQ(none.exit_code, 1) << none.out;
    EXPECT_NE(none.err.find("--place names 'discrete,!cpu,!software': "), std::string::npos) << none.err;
}

TEST(CliPlace, DevicesThatAFileDescribesMaySayWhatWorkCostsThere) {
    const Place p;
    const std::string model = p.model();
    const auto what_if = [&](const std::string& costs) {
        std::ofstream(p.at("cards.json")) << R"({"devices": [{"id": "card", "like": "cpu", "memory": "8GiB")"
                                          << (costs.empty() ? "" : R"(, "costs": )" + costs) << "}]}";
        return run(p, {"plan", "--model", model, "--what-if", p.at("cards.json"), "--json"});
    };
    const auto seconds = [&](const std::string& costs) {
        const Outcome o = what_if(costs);
        EXPECT_EQ(o.exit_code, 0) << o.err;
        return base::Json::parse(o.out)["ways"][0]["seconds"];
    };
    EXPECT_TRUE(seconds("").is_null());
    const auto at = [](const std::string& rate) {
        return R"({"run_us": 10, "ops": {"convolution f32": {"fixed_us": 1, "per_second": )" + rate + "}}}";
    };
    const double slow = seconds(at("1e9")).get<double>(), fast = seconds(at("1e12")).get<double>();
    EXPECT_GT(slow, 10 * fast);
    EXPECT_GT(fast, 1e-5) << "a run beside its ops";
    for (const char* wrong :
         {"7", "{}", R"({"ops": 1, "run_us": "x"})", R"({"ops": {}, "run_us": -5})", R"({"ops": {"move f32": {}}})",
          R"({"ops": {"move f32": {"per_second": 0}}})", R"({"ops": {"move f32": {"points": [[1]]}}})",
          R"({"ops": {"move f32": {"points": [[2, 1], [1, 1]]}}})"}) {
        const Outcome o = what_if(wrong);
        EXPECT_EQ(o.exit_code, 1) << wrong;
        EXPECT_TRUE(is_one_line(o.err)) << o.err;
    }
    const Outcome measured =
        what_if(R"({"ops": {"move f32": {"fixed_us": 1, "per_second": 2, "points": [[1, 1], [2, 2]]}}})");
    EXPECT_EQ(measured.exit_code, 0) << measured.err;
}

}  // namespace
}  // namespace backplane::e2e
