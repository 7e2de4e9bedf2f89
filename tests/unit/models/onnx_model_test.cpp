// Model and ModelSession: files that are read, sizes that are left open, on the reference and on the CPU.
#include "backplane/model.hpp"

#include <gtest/gtest.h>

#include "onnx_bytes.hpp"
#include "support.hpp"
#include "support/modules_of_the_build.hpp"

namespace backplane::onnx_model_test {
namespace {

using namespace onnx_bytes;  // NOLINT: it is what these tests are made of

Model model_of(const std::string& bytes) { return Model::from_onnx(as_bytes(bytes), "a file"); }

ModelInput input_of(const char* name, const std::vector<float>& numbers, Shape shape) {
    return {name, std::as_bytes(std::span(numbers)), std::move(shape)};
}

std::vector<float> floats_of(const ModelResult& result) {
    const std::span<const float> all = result.as<float>();
    return {all.begin(), all.end()};
}

const std::string kDense = dense_network();  // NOLINT: models of it point into it

TEST(OnnxModel, AFileSaysWhatItWants) {
    const Model model = model_of(kDense);
    ASSERT_EQ(model.inputs().size(), 1U) << "w and b are its own";
    EXPECT_EQ(model.inputs()[0].name, "x");
    EXPECT_EQ(model.inputs()[0].shape, (Shape{-1, 4}));
    EXPECT_EQ(model.inputs()[0].symbols, (std::vector<std::string>{"batch", ""}));
    EXPECT_EQ(model.info().opset, 17);
    EXPECT_EQ(model.info().name, "a network");
    EXPECT_EQ(model.info().ops.at("MatMul"), 1U);
    EXPECT_EQ(model.info().parameters, 15U);
    EXPECT_EQ(model.info().weight_bytes, 60U);
}

TEST(OnnxModel, WhatIsNoModelOrOfAnotherOpsetIsRefused) {
    for (const char* text : {"", "what is this", "\x08"}) {
        const std::string bytes = text;
        error_of([&] { model_of(bytes); }, Code::corrupt);
    }
    const std::string graph = node("Relu", {"x"}, {"y"});
    for (const uint64_t opset : {0, 1, 5, 25, 99})
        expect_error([&] { model_of(model(graph, opset)); }, Code::unsupported, "opsets 6 to 24 are read");
    expect_error([] { Model::from_onnx("no such.onnx"); }, Code::not_found, "no such.onnx");
}

TEST(OnnxModel, InputsThatDoNotFitAreNamed) {
    const Model model = model_of(kDense);
    const std::vector<float> eight(8);
    const auto refused = [&](const ModelInput& input, const std::string& says) {
        expect_error([&] { static_cast<void>(model.graph({input})); }, Code::invalid, says);
    };
    refused(input_of("z", eight, {2, 4}), "no input 'z'; it has 'x'");
    refused(input_of("x", eight, {4, 2}), "its shape is [batch, 4], [4, 2] is given");
    refused(input_of("x", eight, {8}), "[8] is given");
    refused(input_of("x", eight, {-2, 4}), "[-2, 4]");
    refused(input_of("x", eight, {3, 4}), "has 48 bytes, 32 are given");
    refused({"x", std::as_bytes(std::span(eight)), {1, 4}, DType::f64}, "it is of f32, f64 is given");
    expect_error(
        [&] {
            static_cast<void>(model.graph({input_of("x", eight, {2, 4}), input_of("x", eight, {2, 4})}));
        },
        Code::invalid, "given twice");
    expect_error([&] { static_cast<void>(model.graph({})); }, Code::unsupported, "leaves its shape open");
    EXPECT_EQ(model.graph({ModelInput("x", Shape{5, 4})}).nodes().size(), 3U);
    expect_error([&] { ModelSession({}, model); }, Code::invalid, "no device given");
}

class OnnxModelOn : public testing::TestWithParam<std::string> {
protected:
    const Context context{test::modules_of_the_build()};
    const Device device = context.choose(GetParam());
};

TEST_P(OnnxModelOn, EachSizeHasItsPlan) {
    ModelSession session({device}, model_of(kDense), {.session = {}, .plans_kept = 2});
    const std::vector<float> x{1, 2, 3, 4, -1, 0, 0, 0};
    EXPECT_EQ(floats_of(session.run({input_of("x", {1, 2, 3, 4}, {1, 4})}).at(0)), (std::vector<float>{11.5F, 2, 5}));
    const std::vector<ModelResult> two = session.run({input_of("x", x, {2, 4})});
    EXPECT_EQ(two.at(0).shape, (Shape{2, 3}));
    EXPECT_EQ(floats_of(two[0]), (std::vector<float>{11.5F, 2, 5, 0, 0, 1}));
    for (int i = 0; i < 2; ++i) EXPECT_EQ(session.run({input_of("x", {1, 2, 3, 4}, {1, 4})}).at(0).shape, (Shape{1, 3}));
    EXPECT_EQ(session.plans().compiled, 2U);
    EXPECT_EQ(session.plans().reused, 2U);
    const std::vector<float> none;
    EXPECT_EQ(session.run({input_of("x", none, {0, 4})}).at(0).shape, (Shape{0, 3}));
    EXPECT_EQ(session.plans().kept, 2U);
    EXPECT_EQ(session.prepare(std::vector{ModelInput("x", Shape{7, 4})}).at(0).shape, (Shape{7, 3}));
    EXPECT_NE(session.describe().find(device.info().id), std::string::npos);
}

TEST_P(OnnxModelOn, ResultsMayBeTheCallersMemoryOrStayOnTheDevice) {
    ModelSession session({device}, model_of(kDense));
    std::vector<float> y(3);
    const std::vector<float> x{1, 2, 3, 4};
    session.run(std::vector{input_of("x", x, {1, 4})}, std::vector<Output>{{"y", std::as_writable_bytes(std::span(y))}});
    EXPECT_EQ(y, (std::vector<float>{11.5F, 2, 5}));
    Tensor there;
    session.run(std::vector{ModelInput("x", Tensor::from(device, DType::f32, {1, 4}, std::as_bytes(std::span(x))))},
                std::vector<Output>{{"y", &there}});
    y.assign(3, 0);
    there.read(std::as_writable_bytes(std::span(y)));
    EXPECT_EQ(y, (std::vector<float>{11.5F, 2, 5}));
    session.run(std::vector{input_of("x", x, {1, 4})}, std::span<const Output>());  // nobody wants it
    EXPECT_EQ(session.plans().compiled, 1U);
}

TEST_P(OnnxModelOn, SmallInputsThatDecideHaveAPlanForEachContent) {
    const std::string bytes = model(input(value("x", kF32, {"6"})) + input(value("shape", kI64, {"2"})) +
                                    output(value("y", kF32, {"", ""})) + node("Reshape", {"x", "shape"}, {"y"}));
    ModelSession session({device}, model_of(bytes));
    const std::vector<float> x{1, 2, 3, 4, 5, 6};
    const auto shaped = [&](const std::vector<int64_t>& shape) {
        return session.run({input_of("x", x, {6}), {"shape", std::as_bytes(std::span(shape)), {2}}}).at(0);
    };
    EXPECT_EQ(shaped({2, 3}).shape, (Shape{2, 3}));
    EXPECT_EQ(shaped({6, -1}).shape, (Shape{6, 1}));
    EXPECT_EQ(shaped({2, 3}).shape, (Shape{2, 3}));
    EXPECT_EQ(floats_of(shaped({2, 3})), x);
    EXPECT_EQ(session.plans().compiled, 2U);
    error_of([&] { shaped({4, 4}); }, Code::invalid);
    const std::vector<int64_t> shape{3, 2};
    const std::vector<ModelInput> on_device{
        input_of("x", x, {6}), {"shape", Tensor::from(device, DType::i64, {2}, std::as_bytes(std::span(shape)))}};
    EXPECT_EQ(session.run(on_device).at(0).shape, (Shape{3, 2})) << "it is read from the device";
    expect_error([&] { static_cast<void>(session.run({input_of("x", x, {6})})); }, Code::invalid,
                 "'shape': it is not given");
}

TEST_P(OnnxModelOn, CheckNamesNodesThatRunNowhere) {
    const std::string bytes = model(input(value("x", kF32, {"3"})) + output(value("y", kF32, {"3"})) +
                                    node("Relu", {"x"}, {"a"}) + node("NonZero", {"a"}, {"b"}) + node("Relu", {"b"}, {"y"}));
    const std::vector<ModelNode> nodes = model_of(bytes).check({&device, 1}, {});
    ASSERT_EQ(nodes.size(), 3U);
    EXPECT_EQ(nodes[0].device, device.info().id);
    EXPECT_EQ(nodes[1].device, "");
    ASSERT_EQ(nodes[1].why.size(), 1U);
    EXPECT_NE(nodes[1].why[0].find("the size of its result"), std::string::npos);
    EXPECT_NE(nodes[2].why.at(0).find("not looked at"), std::string::npos);
    // With what x holds the size is known; that of whole numbers is the Relu that nothing does.
    expect_error(
        [&] {
            static_cast<void>(ModelSession({device}, model_of(bytes)).run({input_of("x", {1, 2, 3}, {3})}));
        },
        Code::invalid, "Relu");
}

std::vector<std::string> devices() {
    std::vector<std::string> ids = test::devices_of_the_build();
    const auto others = [](const std::string& id) { return id != "reference:0" && id != "cpu:0"; };
    ids.erase(std::remove_if(ids.begin(), ids.end(), others), ids.end());
    return ids;
}

INSTANTIATE_TEST_SUITE_P(Devices, OnnxModelOn, testing::ValuesIn(devices()), test::NameOfDevice());
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(OnnxModelOn);

// A node that the first device does not do goes to the next one: maps of f64 are not mixed by the CPU.
TEST(OnnxModelOnTwo, TheGraphIsCutWhereADeviceDoesNotTakeANode) {
    const std::vector<std::string> all = devices();
    if (all.size() < 2) GTEST_SKIP() << "it needs the modules cpu and reference";
    const Context context{test::modules_of_the_build()};
    const std::vector<Device> both{context.choose("cpu:0"), context.choose("reference:0")};
    const std::string bytes =
        model(input(value("x", kF32, {"1", "1", "1", "4"})) + output(value("y", kF32, {"1", "1", "1", "7"})) +
              node("Abs", {"x"}, {"a"}) + node("Cast", {"a"}, {"d"}, integer("to", 11)) +
              initializer(tensor("sizes", kI64, {4}, raw(std::vector<int64_t>{1, 1, 1, 7}))) +
              node("Resize", {"d", "", "", "sizes"}, {"s"},
                   word("mode", "linear") + word("coordinate_transformation_mode", "align_corners")) +
              node("Cast", {"s"}, {"f"}, integer("to", 1)) + node("Neg", {"f"}, {"y"}));
    const Model model = model_of(bytes);
    const std::vector<ModelNode> nodes = model.check(both, {});
    ASSERT_EQ(nodes.size(), 5U);
    EXPECT_EQ(nodes[0].device, "cpu:0");
    EXPECT_EQ(nodes[2].device, "reference:0");
    ASSERT_FALSE(nodes[2].why.empty());
    EXPECT_EQ(nodes[2].why[0].rfind("cpu:0: ", 0), 0U) << nodes[2].why[0];
    ModelSession session(both, model);
    EXPECT_EQ(floats_of(session.run({input_of("x", {1, -2, 3, -4}, {1, 1, 1, 4})}).at(0)),
              (std::vector<float>{-1, -1.5, -2, -2.5, -3, -3.5, -4}));
    EXPECT_GE(session.runs().size(), 2U);
}

TEST(OnnxModelFile, WeightsAreUsedWhereTheyLie) {
    const TemporaryFolder folder;
    std::vector<float> w(1024, 0.5F);
    write_file(folder / "w.bin", raw(w));
    const std::string graph = input(value("x", kF32, {"1024"})) + output(value("y", kF32, {"1024"})) +
                              initializer(tensor_elsewhere("w", {1024}, "w.bin", "0")) + node("Mul", {"x", "w"}, {"y"});
    write_file(folder / "m.onnx", model(graph));
    const Model model = Model::from_onnx(folder / "m.onnx");
    const WeightSource weights = model.weights();
    const std::span<const std::byte> first = weights("w");
    ASSERT_EQ(first.size(), 4096U);
    EXPECT_EQ(first.data(), weights("w").data());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(first.data()) % 4096, 0U) << "a mapping, not a copy";
    EXPECT_TRUE(weights("none").empty());
    const std::vector<std::string> all = devices();
    if (all.empty()) return;
    ModelSession session({Context{test::modules_of_the_build()}.choose(all.front())}, model);
    EXPECT_EQ(floats_of(session.run({input_of("x", std::vector<float>(1024, 4), {1024})}).at(0)),
              std::vector<float>(1024, 2));
}

}  // namespace
}  // namespace backplane::onnx_model_test
