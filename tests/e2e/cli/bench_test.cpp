// The benches run, small, and what they print is what they say. No test asserts a time.
#include <gtest/gtest.h>

#include "base/json.hpp"
#include "program.hpp"
#include "tiny_network.hpp"

namespace backplane::e2e {
namespace {

base::Json json_of(const Place& p, std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "bench");
    arguments.insert(arguments.end(), {"--device", "cpu", "--json"});
    const Outcome o = run(p, arguments);
    EXPECT_EQ(o.exit_code, 0) << o.err;
    return o.exit_code == 0 ? base::Json::parse(o.out) : base::Json::object();
}

TEST(CliBench, OpsAreTimedHostToHostAndResident) {
    const Place p;
    const auto both = json_of(p, {"ops", "--threads", "1", "--op", "Softmax", "--seconds", "0.01", "--resident"});
    ASSERT_EQ(both["ops"].size(), 1U);
    const auto& row = both["ops"][0];
    EXPECT_EQ(row["op"], "Softmax");
    for (const char* runs : {"runs", "resident_runs", "in_a_row_runs", "in_graph_runs"}) EXPECT_GE(row[runs], 5) << runs;
    for (const char* ms : {"median_ms", "least_ms", "resident_ms", "resident_least_ms", "in_a_row_ms", "in_graph_ms"})
        EXPECT_GT(row[ms], 0) << ms;
    const auto host = json_of(p, {"ops", "--op", "Softmax", "--seconds", "0.01"});
    EXPECT_TRUE(host["ops"][0].contains("median_ms"));
    EXPECT_FALSE(host["ops"][0].contains("resident_ms")) << "it is not asked for";
    const Outcome words =
        run(p, {"bench", "ops", "--op", "Softmax", "--seconds", "0.01", "--resident", "--device", "cpu", "--threads", "1"});
    EXPECT_NE(words.out.find("RESIDENT MS"), std::string::npos) << words.out;
}

TEST(CliBench, OpsAreComparedWithAnotherDeviceResidentToo) {
    const Place p;
    const auto json = json_of(p, {"ops", "--op", "Softmax", "--seconds", "0.01", "--resident", "--against", "reference"});
    ASSERT_TRUE(json.contains("ops"));
    const auto& row = json["ops"][0];
    for (const char* field : {"against_ms", "ratio", "against_resident_ms", "resident_ratio"})
        EXPECT_GT(row[field], 0) << field;
    EXPECT_GT(json["geometric_mean"], 0);
}

// Two networks on each device that is here, the third, of many kernels, on the CPU.
TEST(CliBench, MemoryIsWithinTwoPercentOfWhatIsPlannedForIt) {
    const Place p;
    size_t cases = 0;
    for (const std::vector<std::string>& networks :
         {std::vector<std::string>{"pictures,decoder"}, {"speech", "--devices", "cpu"}}) {
        std::vector<std::string> arguments{"bench", "predict", "--memory", "--json", "--networks"};
        arguments.insert(arguments.end(), networks.begin(), networks.end());
        const Outcome o = run(p, arguments);
        ASSERT_EQ(o.exit_code, 0) << o.err;
        const base::Json made = base::Json::parse(o.out);
        for (const auto& one : made["cases"]) {
            EXPECT_EQ(one["problem"], "") << one;
            const double planned = one["planned"].get<double>(), held = one["held"].get<double>();
            EXPECT_NEAR(held, planned, 0.02 * planned) << one;
            ++cases;
        }
    }
    EXPECT_GE(cases, 3U);
    EXPECT_EQ(run(p, {"bench", "predict", "--networks", "none"}).exit_code, 2);
}

TEST(CliBench, AProductOfAnySizeIsTimedWithEachKindOfWeight) {
    const Place p;
    const auto json = json_of(p, {"ops", "--threads", "1", "--product", "3,8,64", "--seconds", "0.01"});
    ASSERT_EQ(json["ops"].size(), 10U) << "floats, both halves, blocks of 32, and all in f16";
    EXPECT_NE(json["ops"][2]["name"].get<std::string>().find("bf16"), std::string::npos) << json;
    for (const auto& row : json["ops"]) {
        EXPECT_EQ(row["op"], "MatMul");
        EXPECT_NE(row["name"].get<std::string>().find("m=3 n=8 k=64"), std::string::npos) << row;
        EXPECT_GT(row["median_ms"], 0) << row;
    }
    const auto large = json_of(p, {"ops", "--threads", "1", "--product", "1,8,256", "--seconds", "0.01"});
    EXPECT_EQ(large["ops"].size(), 17U) << "of blocks of 256, too";
    const auto some =
        json_of(p, {"ops", "--product", "1,8,256", "--weights", "q4_k", "--weights", "f32", "--seconds", "0.01"});
    ASSERT_EQ(some["ops"].size(), 2U);
    EXPECT_NE(some["ops"][1]["name"].get<std::string>().find("q4_k"), std::string::npos) << some;
    const auto halves = json_of(p, {"ops", "--product", "1,8,256", "--dtype", "f16", "--seconds", "0.01"});
    ASSERT_EQ(halves["ops"].size(), 1U);
    EXPECT_NE(halves["ops"][0]["name"].get<std::string>().find("f16 x f16"), std::string::npos) << halves;
    for (const std::vector<std::string>& wrong :
         {std::vector<std::string>{"--weights", "q8_0"}, {"--weights", "q4_k", "--product", "1,8,64"}}) {
        std::vector<std::string> words{"bench", "ops", "--device", "cpu"};
        words.insert(words.end(), wrong.begin(), wrong.end());
        const Outcome refused = run(p, words);
        EXPECT_NE(refused.exit_code, 0);
        EXPECT_TRUE(is_one_line(refused.err)) << refused.err;
    }
    const Outcome two = run(p, {"bench", "ops", "--product", "3,8", "--device", "cpu"});
    EXPECT_NE(two.exit_code, 0);
    EXPECT_TRUE(is_one_line(two.err)) << two.err;
}

TEST(CliBench, ThreadsGoToTheDeviceThatHasThem) {
    const Place p;
    const auto json =
        json_of(p, {"ops", "--op", "Softmax", "--seconds", "0.01", "--against", "reference", "--threads", "1"});
    ASSERT_EQ(json["notes"].size(), 1U) << json;
    EXPECT_NE(json["notes"][0].get<std::string>().find("reference:0 has no threads to set"), std::string::npos) << json;
    EXPECT_GT(json["ops"][0]["ratio"], 0);
    const Outcome words = run(p, {"bench", "ops", "--op", "Softmax", "--seconds", "0.01", "--device", "reference",
                                  "--against", "cpu", "--threads", "1"});
    EXPECT_EQ(words.exit_code, 0) << words.err;
    EXPECT_NE(words.out.find("Note: reference:0 has no threads to set"), std::string::npos) << words.out;
    const Outcome none = run(p, {"bench", "ops", "--op", "Softmax", "--device", "reference", "--threads", "1"});
    EXPECT_EQ(none.exit_code, 1) << "nobody heeds it";
    EXPECT_TRUE(is_one_line(none.err)) << none.err;
}

TEST(CliBench, AChainIsTimedInOneGraphBySubmitsAndFromTheHost) {
    const Place p;
    const auto json = json_of(p, {"chain", "--threads", "1", "--ops", "8", "--elements", "64", "--runs", "2"});
    EXPECT_EQ(json["ops"], 8);
    EXPECT_EQ(json["elements"], 64);
    for (const char* us : {"graph_us_per_op", "submit_us_per_op", "host_to_host_us"}) EXPECT_GT(json[us], 0) << us;
}

TEST(CliBench, APlanOfANewLengthCopiesNoWeight) {
    const Place p;
    const auto json = json_of(p, {"plan", "--layers", "2", "--width", "16", "--length", "5", "--runs", "3"});
    EXPECT_EQ(json["more_weight_bytes"], 0);
    EXPECT_GT(json["nodes"], 0);
    for (const char* ms : {"first_ms", "plan_ms", "known_ms"}) EXPECT_GT(json[ms], 0) << ms;
}

TEST(CliBench, AStepMovesRowsAndNotItsCache) {
    const Place p;
    for (const char* device : {"cpu", "reference"}) {
        const Outcome o =
            run(p, {"bench", "state", "--megabytes", "1", "--width", "64", "--runs", "3", "--device", device, "--json"});
        ASSERT_EQ(o.exit_code, 0) << o.err;
        const auto json = base::Json::parse(o.out);
        EXPECT_EQ(json["row_bytes"], 256);
        EXPECT_EQ(json["cache_bytes"], 999936) << "whole rows";
        EXPECT_EQ(json["small_cache_bytes"], 15616);
        EXPECT_LE(json["moved_bytes"], 2 * 256 + 8) << "a row in, its position, a row out; on " << device;
        for (const char* us : {"step_us", "small_step_us"}) EXPECT_GT(json[us], 0) << us;
    }
}

TEST(CliBench, WholeCommandsAreTimedInTurnsWithAndWithoutADevice) {
    const Place p;
    const std::vector<std::string> words{"bench", "upscale", p.picture(), "--model", p.model(),  "--runs",
                                         "1",     "--on",    "cpu",       "--on",    "reference"};
    std::vector<std::string> with_json = words;
    with_json.emplace_back("--json");
    fs::create_directory(p.at("tmp"));
    const std::vector<std::string> places{"BACKPLANE_STATE_DIR=" + p.at("state"), "TMPDIR=" + p.at("tmp")};
    const Outcome o = run(p, with_json, places);
    ASSERT_EQ(o.exit_code, 0) << o.err;
    const auto json = base::Json::parse(o.out);
    EXPECT_EQ(json["width"], 37);
    EXPECT_EQ(json["height"], 23);
    ASSERT_EQ(json["commands"].size(), 3U);
    EXPECT_EQ(json["commands"][0]["device"], "");
    EXPECT_NE(json["commands"][0]["took"], "");
    EXPECT_EQ(json["commands"][1]["took"], "cpu:0");
    EXPECT_EQ(json["commands"][2]["took"], "reference:0");
    for (const auto& one : json["commands"]) {
        EXPECT_GT(one["least_seconds"], 0);
        EXPECT_GE(one["median_seconds"], one["least_seconds"]);
    }
    EXPECT_TRUE(fs::is_empty(p.at("tmp"))) << "nothing that they wrote stays";
    EXPECT_NE(run(p, words, places).out.find("none named"), std::string::npos);
    const Outcome gone =
        run(p, {"bench", "upscale", p.picture(), "--model", p.model(), "--on", "abacus", "--runs", "1"}, places);
    EXPECT_EQ(gone.exit_code, 1);
    EXPECT_NE(gone.err.find("--device abacus"), std::string::npos) << gone.err;
    EXPECT_EQ(std::count(gone.err.begin(), gone.err.end(), '\n'), 1) << gone.err;
}

TEST(CliBench, AnOpThatIsNoneIsOneLine) {
    const Place p;
    const Outcome o = run(p, {"bench", "ops", "--op", "Abacus", "--device", "cpu"});
    EXPECT_EQ(o.exit_code, 1);
    EXPECT_TRUE(is_one_line(o.err)) << o.err;
}

// What --model takes of the network's size: the tiny ones of the tests.
TEST(CliBench, SpeechIsTimedEncoderAndWhole) {
    const Place p;
    parakeet::write_random_network(p.at("net.gguf"), parakeet::tiny_transducer({0, 1, 2, 3, 4}), {.seed = 21, .blank = 1});
    const auto json = json_of(p, {"speech", "--model", p.at("net.gguf"), "--seconds", "1.5", "--batch", "2", "--runs", "3"});
    EXPECT_EQ(json["network"], "tiny");
    EXPECT_EQ(json["runs"], 3);
    EXPECT_EQ(json["batch"], 2);
    for (const char* field : {"encoder_ms", "encoder_least_ms", "whole_ms", "whole_least_ms", "first_ms", "times_real_time",
                              "tokens", "gflops", "peak_gflops", "resident_bytes"})
        EXPECT_GT(json[field], 0) << field;
    EXPECT_LE(json["encoder_least_ms"], json["encoder_ms"]);
    EXPECT_NEAR(json["times_real_time"].get<double>(), 3000 / json["whole_ms"].get<double>(), 1e-6);
    const auto fastest = json_of(p, {"speech", "--model", p.at("net.gguf"), "--seconds", "1", "--clips", "3", "--batch", "0",
                                     "--runs", "1", "--encoder"});
    EXPECT_TRUE(fastest["batch"] == 1 || fastest["batch"] == 2) << "of 1 and 2 at a time, 4 are more than there are";
    EXPECT_EQ(fastest["clips"], 3);
    EXPECT_EQ(fastest["tried"].size(), 2U);
    const Outcome cut = run(p, {"bench", "speech", "--model", p.at("net.gguf"), "--seconds", "1", "--clips", "6", "--runs",
                                "2", "--encoder", "--place", "encoder=cpu+reference", "--json"});
    ASSERT_EQ(cut.exit_code, 0) << cut.err;
    const auto layers = base::Json::parse(cut.out);
    ASSERT_EQ(layers["parts"].size(), 2U);
    EXPECT_EQ(layers["parts"][0]["device"], "cpu:0");
    EXPECT_GT(layers["parts"][1]["ms"], 0);
    const Outcome words = run(p, {"bench", "speech", "--model", p.at("net.gguf"), "--seconds", "2", "--runs", "1", "--head",
                                  "transducer", "--device", "cpu"});
    EXPECT_EQ(words.exit_code, 0) << words.err;
    EXPECT_NE(words.out.find("tiny in f32, a clip of 2.0 s, on cpu:0"), std::string::npos) << words.out;
    const Outcome headless = run(p, {"bench", "speech", "--model", p.at("net.gguf"), "--head", "ctc", "--device", "cpu"});
    EXPECT_EQ(headless.exit_code, 0) << headless.err;
}

}  // namespace
}  // namespace backplane::e2e
