// Networks on real drivers: the result is the CPU's, whole on the device or, where it cannot do an op, in parts.
#include "machine.hpp"
#include "small_graph.hpp"

namespace backplane::drivers {
namespace {

class Pictures : public testing::TestWithParam<std::string> {
protected:
    void SetUp() override { BP_NEEDS(GetParam(), true); }

    // Upscales `in` with `model` on a device; the placement is the program's own words.
    std::vector<uint8_t> upscaled(const std::string& in, const std::string& model, const std::string& device,
                                  Json& outcome) {
        const Outcome o = e2e::run(
            place_, {"upscale", in, place_.at("out.png"), "--model", model, "--device", device, "--no-cache", "--json"},
            quiet(place_));
        EXPECT_EQ(o.exit_code, 0) << o.err;
        if (o.exit_code != 0) return {};
        outcome = Json::parse(o.out);
        ImageInfo info;
        return e2e::read_image(place_.at("out.png"), info);
    }

    // The bound of backends/opencl/README.md: 1 of 255, and that rarely (a value that lies between two).
    void expect_as_on_the_cpu(const std::string& in, const std::string& model) {
        const std::string id = GetParam() + ":0";
        Json on_cpu;
        Json on_device;
        const std::vector<uint8_t> expected = upscaled(in, model, "cpu:0", on_cpu);
        const std::vector<uint8_t> result = upscaled(in, model, id, on_device);
        ASSERT_FALSE(expected.empty());
        ASSERT_EQ(result.size(), expected.size());
        size_t different = 0;
        for (size_t i = 0; i < result.size(); ++i) {
            ASSERT_LE(std::abs(int{result[i]} - int{expected[i]}), 1) << "value " << i;
            different += result[i] != expected[i];
        }
        EXPECT_LE(different * 100, result.size());
        EXPECT_EQ(on_device["device"], id);
        const Json& placement = on_device["placement"];
        ASSERT_EQ(placement["parts"].size(), 1U) << placement;
        EXPECT_EQ(placement["parts"][0]["device"], id);
        EXPECT_EQ(placement["copies"], 0);
        EXPECT_EQ(placement["notes"].size(), 0U) << placement["notes"];
    }

    const Place place_;
};
INSTANTIATE_TEST_SUITE_P(All, Pictures, testing::Values("vulkan", "opencl"), [](const auto& p) { return p.param; });

TEST_P(Pictures, ASmallNetworkGivesTheCpusPicture) {
    expect_as_on_the_cpu(place_.picture("in.png", 61, 35), place_.model());
    const Outcome o = e2e::run(place_,
                               {"upscale", place_.at("in.png"), place_.at("out.png"), "--model", place_.at("tiny.gguf"),
                                "--device", GetParam() + ":0", "--no-cache", "--verbose"},
                               quiet(place_));
    EXPECT_NE(o.out.find("  on " + GetParam() + ":0: "), std::string::npos) << o.out;
    EXPECT_EQ(o.out.find("  on cpu:0"), std::string::npos) << o.out;
}

TEST_P(Pictures, EsrganGivesTheCpusPicture) {
    const std::string model = std::string(BP_TEST_MODELS) + "/esrgan-medium-x2.gguf";
    if (!fs::exists(model)) GTEST_SKIP() << "no weights: scripts/fetch-models.sh";
    expect_as_on_the_cpu(place_.picture("in.png", 40, 24), model);
}

TEST_P(Pictures, WithWeightsCopiedForEachTileThePictureIsTheSame) {
    const std::string model = std::string(BP_TEST_MODELS) + "/esrgan-thick-x2.gguf";
    if (!fs::exists(model)) GTEST_SKIP() << "no weights: scripts/fetch-models.sh";
    const std::string in = place_.picture("in.png", 30, 20);
    Json whole;
    const std::vector<uint8_t> expected = upscaled(in, model, GetParam() + ":0", whole);
    const Outcome o = e2e::run(place_,
                               {"upscale", in, place_.at("streamed.png"), "--model", model, "--device", GetParam() + ":0",
                                "--stream", "always", "--no-cache", "--json"},
                               quiet(place_));
    ASSERT_EQ(o.exit_code, 0) << o.err;
    EXPECT_GT(Json::parse(o.out)["placement"]["parts"].size(), 1U) << "cut into parts whose weights take turns";
    EXPECT_EQ(whole["placement"]["parts"].size(), 1U);
    ImageInfo info;
    EXPECT_EQ(e2e::read_image(place_.at("streamed.png"), info), expected) << "to the bit";
}

// A convolution of more images than these devices have workgroups in one dimension, between ops that they do.
TEST_P(Pictures, WhatTheDeviceCannotDoIsLeftToTheCpu) {
    set_environment(quiet(place_));
    constexpr int64_t kImages = 70000;
    Graph g;
    const TensorId x = g.input("x", DType::f32, {kImages, 1, 1, 1});
    const TensorId filter = g.weight("filter", DType::f32, {1, 1, 1, 1});
    const TensorId maps = g.add(Op::conv, {g.add(Op::mul, {x, x}), filter});
    g.output(g.add(Op::tanh, {maps}), "y");
    ContextOptions options = options_for(place_);
    const Context context(options);
    const float weight = 0.5F;
    const auto devices =
        std::make_shared<SpreadDevices>(context.choose_with_fallback(GetParam() + ":0"), [&weight](std::string_view name) {
            return name == "filter" ? std::as_bytes(std::span(&weight, 1)) : std::span<const std::byte>();
        });
    ASSERT_EQ(devices->devices().size(), 2U);
    SpreadSession session(devices, g);
    const std::vector<float> in = numbers(kImages, 4);
    std::vector<float> out(in.size());
    session.run({{{"x", std::as_bytes(std::span(in))}}}, {{{"y", std::as_writable_bytes(std::span(out))}}});
    for (size_t i = 0; i < in.size(); ++i) ASSERT_NEAR(out[i], std::tanh(in[i] * in[i] * weight), 1e-5F) << i;
    const SpreadReport report = session.report();
    std::string placed;
    for (const SpreadPart& part : report.parts) placed += part.device + " " + part.ops + "; ";
    ASSERT_EQ(report.parts.size(), 3U) << placed;
    EXPECT_EQ(report.parts[1].device, "cpu:0") << placed;
    EXPECT_NE(report.parts[1].ops.find("Conv"), std::string::npos) << placed;
    for (const size_t i : {0, 2}) EXPECT_EQ(report.parts[i].device, GetParam() + ":0") << placed;
    EXPECT_EQ(report.copies, 2U);
    EXPECT_EQ(report.copied_bytes, 2 * kImages * sizeof(float));
    ASSERT_FALSE(report.notes.empty());
    EXPECT_NE(report.notes[0].find("Conv"), std::string::npos) << report.notes[0];
}

}  // namespace
}  // namespace backplane::drivers
