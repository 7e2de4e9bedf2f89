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

TEST(CliPlan, AmountsAndDevicesThatMakeNoSenseAreWrongUse) {
    const Place p;
    const std::string model = p.model();
    for (const char* memory :
         {"cpu", "cpu=", "=1GiB", "cpu=much", "cpu=1XiB", "cpu=1..5G", "cpu=0", "cpu=-1", "cpu=1GiBs", "cpu=99999999999T"})
        for (const char* command : {"plan", "upscale"}) {
            std::vector<std::string> arguments{command, "--model", model, "--memory", memory};
            if (std::string(command) == "upscale") arguments.insert(arguments.begin() + 1, {p.picture(), p.at("out.png")});
            const Outcome o = run(p, arguments);
            EXPECT_EQ(o.exit_code, 2) << command << " " << memory << ": " << o.err;
            EXPECT_TRUE(is_one_line(o.err)) << o.err;
        }
    EXPECT_EQ(run(p, {"plan", "--model", model, "--memory", "abacus=1GiB"}).exit_code, 1);
    EXPECT_EQ(run(p, {"plan", "--model", model, "--stream", "perhaps"}).exit_code, 2);
}

TEST(CliPlan, WhatSaysNothingOfTheKindOfNetworkIsWrongUse) {
    const Place p;
    const std::string picture = p.model(), speech = BP_TEST_SOURCE_DIR "/models/parakeet-mini/parakeet-mini-q8_0.gguf";
    for (const auto& [model, option] :
         {std::pair{picture, "--seconds"}, std::pair{picture, "--batch"}, std::pair{speech, "--size"}}) {
        const Outcome o = run(p, {"plan", "--model", model, option, "64", "--device", "cpu"});
        EXPECT_EQ(o.exit_code, 2) << option << ": " << o.out;
        EXPECT_TRUE(is_one_line(o.err)) << o.err;
        EXPECT_NE(o.err.find(std::string(option) + " is for networks of "), std::string::npos) << o.err;
    }
}

TEST(CliPlan, WhatDoesNotFitIsExitCode1AndTheSentenceSaysWhatWould) {
    const Place p;
    const std::string model = p.model();
    const Outcome o = run(p, {"plan", "--model", model, "--size", "256", "--device", "cpu", "--memory", "cpu=1MiB"});
    EXPECT_EQ(o.exit_code, 1);
    EXPECT_NE(o.err.find("tiny-x2 does not fit: needs "), std::string::npos) << o.err;
    EXPECT_NE(o.err.find(" on cpu:0, 1.0 MiB are free"), std::string::npos) << o.err;
    EXPECT_NE(o.err.find("; upscale takes tiles of 64 pixels then: see --size 64\n"), std::string::npos) << o.err;
    EXPECT_TRUE(is_one_line(o.err)) << o.err;
    const Outcome neither = run(p, {"plan", "--model", model, "--size", "256", "--device", "cpu", "--memory", "cpu=10KiB"});
    EXPECT_EQ(neither.exit_code, 1);
    EXPECT_NE(neither.err.find("; tiles of 64 pixels, the smallest: needs "), std::string::npos) << neither.err;
    EXPECT_EQ(neither.err.find("--size"), std::string::npos) << "that would not do either: " << neither.err;
    EXPECT_TRUE(is_one_line(neither.err)) << neither.err;
    const Outcome least = run(p, {"plan", "--model", model, "--size", "64", "--device", "cpu", "--memory", "cpu=10KiB"});
    EXPECT_EQ(least.exit_code, 1);
    EXPECT_EQ(least.err.find("--size"), std::string::npos) << "no tile is smaller: " << least.err;
    EXPECT_NE(o.out.find("!"), std::string::npos) << "what is beyond it is in the picture: " << o.out;
    const auto way = [&](const std::string& memory) {
        const Outcome json =
            run(p, {"plan", "--model", model, "--size", "256", "--device", "cpu", "--memory", "cpu=" + memory, "--json"});
        return base::Json::parse(json.out)["ways"][0];
    };
    const auto needs = way("1GiB")["needs"].get<uint64_t>();
    EXPECT_EQ(way("1GiB")["fits"], true);
    EXPECT_EQ(way("1GiB")["chosen"], true);
    EXPECT_EQ(way(std::to_string(needs))["fits"], true) << "to the byte";
    EXPECT_EQ(way(std::to_string(needs - 1))["fits"], false);
}

TEST(CliPlan, DevicesThatAFileDescribesArePlannedFor) {
    const Place p;
    const std::string model = p.model();
    const auto what_if = [&](const std::string& text) {
        std::ofstream(p.at("cards.json")) << text;
        return run(p, {"plan", "--model", model, "--size", "256", "--what-if", p.at("cards.json"), "--json"});
    };
    for (const char* wrong :
         {"", "{", "[]", "{}", R"({"devices": []})", R"({"devices": [{"id": "a"}]})",
          R"({"devices": [{"id": "a", "memory": 8}]})", R"({"devices": [{"id": "a", "memory": "lots"}]})",
          R"({"devices": [{"id": "", "like": "cpu", "memory": "8GiB"}]})", R"({"devices": [{"id": "a", "like": "cpu"}]})",
          R"({"devices": [{"id": "a", "like": "cpu", "memory": "0"}]})",
          R"({"devices": [{"id": "a", "like": "cpu", "memory": "8GiB", "costs": {}}]})",
          R"({"devices": [{"id": "a", "like": "cpu", "memory": "8GiB"}, {"id": "a", "like": "cpu", "memory": "1GiB"}]})",
          R"({"devices": [{"id": "a", "lik": "cpu", "memory": "8GiB"}]})"}) {
        const Outcome o = what_if(wrong);
        EXPECT_EQ(o.exit_code, 1) << wrong;
        EXPECT_TRUE(is_one_line(o.err)) << o.err;
        EXPECT_NE(o.err.find("cards.json"), std::string::npos) << o.err;
    }
    const auto says = [&](const char* text, const char* words) {
        EXPECT_NE(what_if(text).err.find(words), std::string::npos) << what_if(text).err;
    };
    says(R"({"devices": [{"id": "mine", "memory": 8}]})", "\"memory\" of mine is wanted, as text like \"8GiB\"");
    says(R"({"devices": [{"id": "mine", "memory": "1GiB", "costs": {}}]})", "\"costs\" of mine: it has no 'ops'");
    says(R"({"devices": [{"id": "mine", "memory": "1GiB"}, {"id": "mine", "memory": "2GiB"}]})",
         "the id 'mine' is there twice");
    const Outcome both = run(p, {"plan", "--model", model, "--what-if", p.at("cards.json"), "--memory", "cpu=1GiB"});
    EXPECT_EQ(both.exit_code, 2) << both.err;
    EXPECT_TRUE(is_one_line(both.err)) << both.err;
    const Outcome unlike = what_if(R"({"devices": [{"id": "mine", "like": "abacus", "memory": "1MiB"}]})");
    EXPECT_EQ(unlike.exit_code, 1);
    EXPECT_NE(unlike.err.find("cards.json': mine is like 'abacus': "), std::string::npos) << unlike.err;
    EXPECT_TRUE(is_one_line(unlike.err)) << unlike.err;
    const Outcome o = what_if(
        R"({"devices": [{"id": "small", "like": "cpu", "memory": "1MiB"}, {"id": "large", "like": "cpu", "memory": "8GiB"}]})");
    ASSERT_EQ(o.exit_code, 0) << o.err;
    const auto ways = base::Json::parse(o.out)["ways"];
    EXPECT_EQ(ways[0]["device"], "small");
    EXPECT_EQ(ways[0]["fits"], false);
    for (const auto& way : ways)
        EXPECT_EQ(way["chosen"].get<bool>(), way["device"] == "large" && !way["streamed"].get<bool>());
    EXPECT_EQ(what_if(R"({"devices": [{"id": "small", "like": "cpu", "memory": "1MiB"}]})").exit_code, 1);
}

TEST(CliPlan, TilesAreAsSmallAsTheMemoryNeeds) {
    const Place p;
    const std::string model = p.model();
    const std::string in = p.picture("in.png", 500, 400);
    const auto upscaled = [&](const std::vector<std::string>& more) {
        std::vector<std::string> arguments{"upscale", in, p.at("out.png"), "--model", model, "--device", "cpu", "--json"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return run(p, arguments);
    };
    const Outcome large = upscaled({});
    ASSERT_EQ(large.exit_code, 0) << large.err;
    const std::string whole = content(p.at("out.png"));
    const Outcome small = upscaled({"--memory", "cpu=4MiB"});
    ASSERT_EQ(small.exit_code, 0) << small.err;
    EXPECT_LT(base::Json::parse(small.out)["tile"].get<int>(), base::Json::parse(large.out)["tile"].get<int>());
    EXPECT_EQ(content(p.at("out.png")), whole);
    const Outcome none = upscaled({"--memory", "cpu=10KiB"});
    EXPECT_EQ(none.exit_code, 1);
    EXPECT_NE(none.err.find("10.0 KiB are free"), std::string::npos) << none.err;
}

// Thirty convolutions behind each other: more weights than all else.
std::string deep_model(const Place& p) {
    constexpr int64_t kWide = 32, kDeep = 30;
    const std::vector<float> in(kWide * 3 * 9, 0.01F), bias(kWide, 0.001F), out(3 * kWide * 9, 0.01F);
    std::vector<float> weight(kWide * kWide * 9, 0.0F);
    for (size_t c = 0; c < kWide; ++c) weight[(c * kWide + c) * 9 + 4] = 1.0F;
    GgufWriter writer;
    writer.set("general.architecture", std::string("esrgan"));
    writer.set("general.name", std::string("deep-x2"));
    writer.set("esrgan.scale", int64_t{2});
    std::vector<std::string> layers{"input image", "conv first image"};
    const auto add = [&](const std::string& name, const std::vector<float>& values, const Shape& shape) {
        writer.add(name + ".weight", DType::f32, shape, std::as_bytes(std::span(values)));
        writer.add(name + ".bias", DType::f32, {shape[0]}, std::as_bytes(std::span(bias)).first(shape[0] * 4));
    };
    add("first", in, {kWide, 3, 3, 3});
    std::string last = "first";
    for (int64_t k = 0; k < kDeep; ++k) {
        const std::string name = "c" + std::to_string(k);
        layers.push_back("conv " + name + " " + last);
        add(name, weight, {kWide, kWide, 3, 3});
        last = name;
    }
    layers.push_back("conv last " + last);
    add("last", out, {3, kWide, 3, 3});
    layers.insert(layers.end(), {"upsample larger last by=2", "output larger"});
    writer.set("esrgan.layers", layers);
    writer.write(p.at("deep.gguf"));
    return p.at("deep.gguf");
}

// Weights that are streamed are said in a line, not one for each part of the network; where that is turned off the error says what it would take.
TEST(CliPlan, StreamedWeightsAreSaidInALine) {
    const Place p;
    const std::string model = deep_model(p), in = p.picture("in.png", 64, 64);
    const auto upscaled = [&](const std::vector<std::string>& more) {
        std::vector<std::string> arguments{"upscale",  in,    p.at("out.png"), "--model", model,
                                           "--device", "cpu", "--tile",        "64"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return run(p, arguments);
    };
    const Outcome whole = upscaled({});
    ASSERT_EQ(whole.exit_code, 0) << whole.err;
    const std::string pixels = content(p.at("out.png"));
    const base::Json plan =
        base::Json::parse(run(p, {"plan", "--model", model, "--size", "64", "--device", "cpu", "--json"}).out);
    const std::string less = "cpu=" + std::to_string(plan["ways"][0]["needs"].get<uint64_t>() - 1);
    const Outcome o = upscaled({"--memory", less});
    ASSERT_EQ(o.exit_code, 0) << o.err;
    EXPECT_EQ(content(p.at("out.png")), pixels);
    EXPECT_NE(o.out.find("Note: weights are streamed: "), std::string::npos) << o.out;
    EXPECT_NE(o.out.find(" are moved for each tile\n"), std::string::npos) << o.out;
    EXPECT_EQ(o.out.find("  on cpu:0: "), std::string::npos) << o.out;
    EXPECT_NE(upscaled({"--memory", less, "--verbose"}).out.find("  on cpu:0: "), std::string::npos);
    const Outcome never = upscaled({"--memory", less, "--stream", "never"});
    EXPECT_EQ(never.exit_code, 1);
    EXPECT_NE(never.err.find("; streamed there "), std::string::npos) << never.err;
    EXPECT_NE(never.err.find("; streaming is turned off"), std::string::npos) << never.err;
    const Outcome planned =
        run(p, {"plan", "--model", model, "--size", "64", "--device", "cpu", "--memory", less, "--stream", "never"});
    EXPECT_EQ(planned.exit_code, 1);
    EXPECT_NE(planned.err.find("; streamed there "), std::string::npos) << planned.err;
    EXPECT_NE(planned.err.find(", which is there; streaming is turned off"), std::string::npos) << planned.err;
}

TEST(CliPlan, DtypeAutoIsF16WhereAllWeightsHaveRoomInThatAlone) {
    const Place p;
    const std::string model = deep_model(p), in = p.picture("in.png", 16, 16);
    const auto plan = [&](const std::string& dtype, const std::string& memory) {
        return run(p, {"plan", "--model", model, "--size", "16", "--device", "reference", "--json", "--dtype", dtype,
                       "--memory", "reference=" + memory});
    };
    const auto needs = [&](const char* dtype) {
        return base::Json::parse(plan(dtype, "1GiB").out)["ways"][0]["needs"].get<uint64_t>();
    };
    const auto upscaled = [&](const std::string& dtype, uint64_t memory, const std::string& more = "--json") {
        return run(p, {"upscale", in, p.at("out.png"), "--model", model, "--device", "reference", "--tile", "16", "--dtype",
                       dtype, "--memory", "reference=" + std::to_string(memory), more});
    };
    const uint64_t full = needs("f32"), half = needs("f16");
    ASSERT_LT(half, full);
    for (const auto& [memory, dtype] : {std::pair{full, "f32"}, std::pair{full - 1, "f16"}, std::pair{half, "f16"}}) {
        const base::Json json = base::Json::parse(plan("auto", std::to_string(memory)).out);
        EXPECT_EQ(json["dtype"], dtype) << memory;
        EXPECT_EQ(json["ways"][0]["chosen"], true) << "with all weights there: " << json["ways"].dump();
        ASSERT_EQ(upscaled(dtype, memory).exit_code, 0);
        const std::string pixels = content(p.at("out.png"));
        const Outcome o = upscaled("auto", memory);
        ASSERT_EQ(o.exit_code, 0) << o.err;
        EXPECT_EQ(base::Json::parse(o.out)["dtype"], dtype);
        EXPECT_EQ(content(p.at("out.png")), pixels);
        const bool said = upscaled("auto", memory, "--force").out.find("Note: f16 is taken: ") != std::string::npos;
        EXPECT_EQ(said, std::string(dtype) == "f16") << memory;
    }
    const base::Json streamed = base::Json::parse(plan("auto", std::to_string(half - 1)).out);
    EXPECT_EQ(streamed["dtype"], "f32") << "neither has room for all weights, and streamed f32 has";
    EXPECT_EQ(streamed["ways"][1]["chosen"], true);
    for (const Outcome& none : {upscaled("auto", 10240), upscaled("f32", 10240)}) {
        EXPECT_EQ(none.exit_code, 1);
        EXPECT_NE(none.err.find("; with dtype f16 "), std::string::npos) << none.err;
    }
    EXPECT_EQ(upscaled("f16", 10240).err.find("dtype f16"), std::string::npos) << "that is what it was";
    EXPECT_EQ(run(p, {"plan", "--model", model, "--dtype", "f8"}).exit_code, 2);
}

// An RRDBNet of four channels whose weights are all 0, as Real-ESRGAN's are named.
std::string rrdb_safetensors() {
    base::Json header = base::Json::object();
    uint64_t at = 0;
    const auto add = [&](const std::string& name, const base::Json& shape, uint64_t numbers) {
        header[name] = {{"dtype", "F32"}, {"shape", shape}, {"data_offsets", {at, at + 4 * numbers}}};
        at += 4 * numbers;
    };
    const auto convolution = [&](const std::string& name, uint64_t in, uint64_t out) {
        add(name + ".weight", {out, in, 3, 3}, out * in * 9);
        add(name + ".bias", base::Json::array({out}), out);
    };
    convolution("conv_first", 3, 4);
    for (int dense = 1; dense <= 3; ++dense)
        for (int i = 1; i <= 5; ++i)
            convolution("body.0.rdb" + std::to_string(dense) + ".conv" + std::to_string(i), 4 + 2 * (i - 1), i < 5 ? 2 : 4);
    for (const char* name : {"conv_body", "conv_up1", "conv_up2", "conv_hr"}) convolution(name, 4, 4);
    convolution("conv_last", 4, 3);
    const std::string text = header.dump();
    std::string file;
    for (int i = 0; i < 8; ++i) file += static_cast<char>(text.size() >> (8 * i) & 255);
    return file + text + std::string(at, '\0');
}

TEST(CliPlan, WhatUpscaleTakesIsPlannedToo) {
    const Place p;
    const std::string file = rrdb_safetensors();
    write(p.at("x4plus.safetensors"), file);
    const Outcome o = run(p, {"plan", "--model", p.at("x4plus.safetensors"), "--size", "16", "--device", "cpu"});
    EXPECT_EQ(o.exit_code, 0) << o.err;
    EXPECT_NE(o.out.find("stage 1 on cpu:0"), std::string::npos) << o.out;
    write(p.at("other.safetensors"), std::string(file).replace(file.find("conv_first"), 10, "conv_third"));
    const Outcome other = run(p, {"plan", "--model", p.at("other.safetensors"), "--device", "cpu"});
    EXPECT_EQ(other.exit_code, 1);
    EXPECT_NE(other.err.find("RRDBNet"), std::string::npos) << other.err;
    EXPECT_TRUE(is_one_line(other.err)) << other.err;
}

// Two amounts for one device, by whatever names: one of them would be meant in vain.
TEST(CliPlan, MemoryOfADeviceIsSaidOnce) {
    const Place p;
    const std::string model = p.model();
    for (const char* twice : {"cpu=1GiB,cpu=2GiB", "cpu=1GiB,cpu:0=1GiB"}) {
        const Outcome o = run(p, {"plan", "--model", model, "--device", "cpu", "--memory", twice});
        EXPECT_EQ(o.exit_code, 2) << o.out;
        EXPECT_NE(o.err.find("names cpu:0 twice"), std::string::npos) << o.err;
        EXPECT_TRUE(is_one_line(o.err)) << o.err;
    }
}

TEST(CliPlan, ADeviceThatIsNotThereIsOneLine) {
    const Place p;
    const Outcome o = run(p, {"plan", "--model", p.model(), "--device", "abacus"});
    EXPECT_EQ(o.exit_code, 1);
    EXPECT_TRUE(is_one_line(o.err)) << o.err;
}

}  // namespace
}  // namespace backplane::e2e
