// Networks that people use, as they are published, against what ONNX Runtime 1.30 computes of the same inputs: networks/NAME.json, made by
// `bench/peers/onnx/run golden`. The files are fetched (scripts/fetch-models.sh vad ocr); where one is not there its tests are skipped, and say so.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <ostream>

#include "backplane/model.hpp"
#include "base/json.hpp"
#include "support/modules_of_the_build.hpp"

namespace backplane::test {
namespace {

namespace fs = std::filesystem;
using base::Json;

constexpr const char* kNetworks[] = {"silero_vad_v5",          "silero_vad_v6",        "paddle_ocr_detection",
                                     "paddle_ocr_recognition", "paddle_ocr_direction", "esrgan_medium_x2"};

struct Case {
    std::string network, device;
};
void PrintTo(const Case& one, std::ostream* out) { *out << one.network << " on " << one.device; }

struct Array {
    Shape shape;
    std::vector<std::byte> bytes;
};

Shape shape_of(const Json& json) {
    Shape shape;
    for (const Json& extent : json) shape.push_back(extent.get<int64_t>());
    return shape;
}

template <typename Number>
Array array_of(Shape shape, const std::vector<Number>& numbers) {
    const auto bytes = std::as_bytes(std::span(numbers));
    return {std::move(shape), {bytes.begin(), bytes.end()}};
}

// As bench/peers/onnx/tensors.js makes it.
Array made(const Json& input, int64_t step) {
    const Shape shape = shape_of(input["shape"]);
    const std::string kind = input["kind"].get<std::string>();
    if (kind == "number") return array_of(shape, std::vector<int64_t>{input["value"].get<int64_t>()});
    std::vector<float> values(static_cast<size_t>(elements(shape)));
    const int64_t width = shape.back(), height = shape.size() > 1 ? shape[shape.size() - 2] : 1;
    const double scale = input.value("scale", 1.0).get<double>(), add = input.value("add", 0.0).get<double>();
    auto state = static_cast<uint32_t>(12345 + step);
    for (int64_t i = 0; kind != "zeros" && i < elements(shape); ++i) {
        state = state * 1664525U + 1013904223U;
        const double noise = state / 4294967296.0;
        const int64_t x = i % width, y = i / width % height;
        const bool dark = ((x >> 2) + (y >> 3)) % 3 == 0 && (y >> 3) % 2 == 0;
        const double pattern = kind == "waves" ? static_cast<double>((i * (3 + step)) % 64 - 32) / 80 : dark ? -1 : 0.8;
        values[static_cast<size_t>(i)] = static_cast<float>((pattern + noise * 0.2) * scale + add);
    }
    return array_of(shape, values);
}

std::vector<ModelResult> results_of(ModelSession& session, const Json& golden) {
    std::vector<ModelResult> results;
    for (int64_t step = 0; step < golden["steps"].get<int64_t>(); ++step) {
        std::map<std::string, Array> arrays;
        for (const Json& input : golden["inputs"]) arrays[input["name"].get<std::string>()] = made(input, step);
        for (const Json& goes : golden["feedback"])
            for (const ModelResult& result : results)
                if (result.name == goes["from"].get<std::string>())
                    arrays[goes["to"].get<std::string>()] = {result.shape, result.bytes};
        std::vector<ModelInput> inputs;
        for (const auto& [name, array] : arrays) inputs.emplace_back(name, std::span(array.bytes), array.shape);
        results = session.run(inputs);
    }
    return results;
}

// 1e-4 of the value, and a tenth of that of the largest one: sums of numbers that nearly cancel have no digits of their own.
void expect_alike(const ModelResult& got, const Json& want) {
    ASSERT_EQ(got.shape, shape_of(want["shape"])) << got.name;
    const std::span<const float> values = got.as<float>();
    std::vector<double> wanted;
    for (const Json& value : want["values"]) wanted.push_back(value.get<double>());
    const double most = want["most"].get<double>();
    const auto every = static_cast<size_t>(want["every"].get<int64_t>());
    size_t far = 0;
    for (size_t i = 0; i < wanted.size(); ++i) {
        const double off = std::abs(static_cast<double>(values[i * every]) - wanted[i]);
        if (off <= 1e-4 * std::abs(wanted[i]) + 1e-5 * most || far++ > 0) continue;
        ADD_FAILURE() << got.name << "[" << i * every << "] is " << values[i * every] << " in place of " << wanted[i];
    }
    EXPECT_EQ(far, 0U) << "of " << wanted.size() << " values of " << got.name;
}

class OnnxNetworksOn : public testing::TestWithParam<Case> {};

TEST_P(OnnxNetworksOn, GiveWhatOnnxRuntimeGives) {
    const std::string source = BP_TEST_SOURCE_DIR;
    std::ifstream text(source + "/tests/onnx/networks/" + GetParam().network + ".json");
    const Json golden = Json::parse(std::string{std::istreambuf_iterator<char>(text), {}});
    const fs::path file = fs::path(source) / golden["file"].get<std::string>();
    if (!fs::exists(file))
        GTEST_SKIP() << file.string() << " is not there: scripts/fetch-models.sh vad ocr, or bench/peers/esrgan/run export";
    const Context context(modules_of_the_build());
    ModelSession session({context.choose(GetParam().device)}, Model::from_onnx(file));
    const std::vector<ModelResult> results = results_of(session, golden);
    ASSERT_EQ(results.size(), golden["outputs"].size());
    for (size_t i = 0; i < results.size(); ++i) {
        EXPECT_EQ(results[i].name, golden["outputs"][i]["name"].get<std::string>());
        expect_alike(results[i], golden["outputs"][i]);
    }
    EXPECT_EQ(session.plans().compiled, 1U);
}

std::vector<Case> cases() {
    std::vector<Case> all;
    for (const std::string& device : devices_of_the_build())
        for (const char* network : kNetworks)
            if (device == "cpu:0" || device == "vulkan:0" || device == "opencl:0") all.push_back({network, device});
    return all;
}

INSTANTIATE_TEST_SUITE_P(Networks, OnnxNetworksOn, testing::ValuesIn(cases()), [](const auto& one) {
    return one.param.network + "_" + one.param.device.substr(0, one.param.device.find(':'));
});
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(OnnxNetworksOn);

}  // namespace
}  // namespace backplane::test
