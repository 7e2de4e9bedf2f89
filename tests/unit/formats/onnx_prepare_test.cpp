// What is done with a model of ONNX before it is a graph: other files, branches, nodes that become one.
#include <cmath>

#include "formats/onnx/convert.hpp"
#include "formats/onnx/folder.hpp"
#include "formats/onnx/prepare.hpp"
#include "onnx_result.hpp"
#include "support.hpp"

namespace backplane::onnx_prepare_test {
namespace {

using namespace onnx_bytes;  // NOLINT: it is what these tests are made of
using formats::OnnxModel;
using formats::OnnxTensor;

OnnxModel parsed(const std::string& bytes, const formats::OnnxFiles& files = {}) {
    return formats::parse_onnx(as_bytes(bytes), "a file", files);
}

// ---- tensors in other files -----------------------------------------------------------------------------------------------

std::string model_with_weights_at(const std::string& location, const std::string& offset) {
    return model(input(value("x", kF32, {"2"})) + output(value("y", kF32, {"2"})) +
                 initializer(tensor_elsewhere("w", {2}, location, offset)) + node("Add", {"x", "w"}, {"y"}));
}

TEST(OnnxFolder, TensorsLieInFilesOfTheModelsFolderAlone) {
    const TemporaryFolder folder;
    std::filesystem::create_directories(folder / "models" / "part");
    const std::string data = "12345678" + raw(std::vector<float>{3, 4});
    write_file(folder / "models/w.bin", data);
    write_file(folder / "models/part/w.bin", data);
    write_file(folder / "secret.bin", data);
    formats::OnnxFolder files(folder / "models/model.onnx");
    const auto from = [&](const std::string& location, const std::string& offset = "8") {
        return parsed(model_with_weights_at(location, offset), [&](const std::string& name) { return files.bytes(name); });
    };
    for (const std::string location : {"w.bin", "./w.bin", "part/w.bin"}) {
        const OnnxModel read = from(location);
        EXPECT_EQ(graph::decode(read.initializers.at(0).bytes(), DType::f32), (std::vector<double>{3, 4}));
        EXPECT_TRUE(read.initializers[0].data.empty()) << "it lies where the file has it";
    }
    const std::string outside[] = {"../secret.bin", "part/../../secret.bin", (folder / "secret.bin").string(), "",
                                   std::string("w.bin\0x", 7)};
    for (const std::string& location : outside)
        expect_error([&] { from(location); }, Code::denied, "in its own folder alone");
    expect_error([&] { from("none.bin"); }, Code::not_found, "it belongs to the model");
    std::error_code failed;
    std::filesystem::create_symlink(folder / "secret.bin", folder / "models" / "link.bin", failed);
    if (!failed) expect_error([&] { from("link.bin"); }, Code::denied, "outside of the model's folder");
    for (const std::string offset : {"9", "99999999999999999999", "18446744073709551615", "-8", "x", ""})
        error_of([&] { from("w.bin", offset); }, Code::corrupt);
    expect_error([] { parsed(model_with_weights_at("w.bin", "8")); }, Code::unsupported, "lies in another file");
}

// ---- branches -------------------------------------------------------------------------------------------------------------

// y = rate == 16000 ? x + 1 : x - 1, with a condition that follows from an input's content.
std::string model_with_branches() {
    const auto body = [](const std::string& op, const std::string& name) {
        return node(op, {"x", "one"}, {name}) + output(value(name, kF32, {"3"}));
    };
    const std::string branches =
        branch("then_branch", body("Add", "sum")) + branch("else_branch", body("Sub", "difference"));
    return model(input(value("x", kF32, {"3"})) + input(value("rate", kI64, {})) + output(value("y", kF32, {"3"})) +
                 initializer(tensor("one", {1}, {1})) +
                 initializer(tensor("wanted", kI64, {}, raw(std::vector<int64_t>{16000}))) +
                 node("Equal", {"rate", "wanted"}, {"is"}) + node("If", {"is"}, {"y"}, branches));
}

TEST(OnnxBranches, TheConditionMayFollowFromTheContentOfAnInput) {
    const std::string text = model_with_branches();  // which the model points into
    const OnnxModel read = formats::prepared(parsed(text));
    for (const int64_t rate : {16000, 8000}) {
        const OnnxTensor given{
            "rate", DType::i64, {}, graph::encode(std::vector<double>{static_cast<double>(rate)}, DType::i64)};
        formats::OnnxGiven answers;
        answers.content = [&](const std::string& name) { return name == "rate" ? &given : nullptr; };
        const Graph graph = formats::graph_of(read, answers);
        ASSERT_EQ(graph.nodes().size(), 1U) << "that of the branch; what the condition took is nobody's";
        EXPECT_EQ(graph.nodes()[0].op, rate == 16000 ? Op::add : Op::sub);
        EXPECT_EQ(graph.with_role(Role::input).size(), 1U);
    }
    expect_error([&] { formats::graph_of(read); }, Code::unsupported,
                 "If: graphs have no branches: its condition must follow");
}

TEST(OnnxBranches, FindingsGoOnBehindWhatDoesNotGo) {
    const std::string text = model(input(value("x", kF32, {"3"})) + output(value("y", kF32, {"3"})) +
                                   node("Relu", {"x"}, {"a"}) + node("NonZero", {"a"}, {"b"}) + node("Relu", {"b"}, {"c"}) +
                                   node("NoSuchOp", {"c"}, {"d"}) + node("Abs", {"x"}, {"y"}));
    const formats::OnnxFindings found = formats::findings_of(parsed(text));
    ASSERT_EQ(found.nodes.size(), 5U);
    EXPECT_FALSE(found.whole);
    EXPECT_EQ(found.graph.nodes().size(), 2U);
    EXPECT_EQ(found.nodes[0].why, "");
    EXPECT_NE(found.nodes[1].why.find("the size of its result"), std::string::npos);
    EXPECT_FALSE(found.nodes[2].reached);
    EXPECT_NE(found.nodes[3].why.find("there is no such op"), std::string::npos);
    EXPECT_EQ(found.nodes[4].nodes, std::vector<size_t>{1});
}

TEST(OnnxBranches, LoopsAreRefusedInASentence) {
    const std::string text =
        model(input(value("x", kF32, {"3"})) + output(value("y", kF32, {"3"})) + node("Loop", {"", "", "x"}, {"y"}));
    expect_error([&] { formats::graph_of(parsed(text)); }, Code::unsupported,
                 "Loop: graphs have no loops: export the model with it unrolled");
}

// ---- nodes that become one -------------------------------------------------------------------------------------------------

std::vector<double> run(const OnnxModel& model, const std::vector<float>& x) {
    const Graph graph = formats::graph_of(model);
    std::vector<graph::TensorBytes> in;
    for (const TensorId id : graph.with_role(Role::input)) in.push_back({id, std::as_bytes(std::span(x))});
    const formats::OnnxWeights weights = formats::weights_of(model);
    for (const TensorId id : graph.with_role(Role::weight)) in.push_back({id, weights.at(graph[id].name).second});
    return made_by(graph, in).numbers;
}

// The operators that are left, and that the results are the same.
void expect_becomes(const std::string& nodes, const std::vector<std::string>& extents, const std::vector<std::string>& ops) {
    const std::string text = model_of_x(nodes, extents);
    const OnnxModel plain = parsed(text), simple = formats::prepared(parsed(text));
    std::vector<std::string> left;
    for (const formats::OnnxNode& node : simple.nodes) left.push_back(node.op);
    EXPECT_EQ(left, ops);
    size_t size = 1;
    for (const std::string& extent : extents) size *= std::stoull(extent);
    std::vector<float> x;
    for (size_t i = 0; i < size; ++i) x.push_back(static_cast<float>(std::sin(static_cast<double>(i) * 1.7) * 4));
    const std::vector<double> want = run(plain, x), got = run(simple, x);
    ASSERT_EQ(want.size(), got.size());
    for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(want[i], got[i], 1e-5 * std::max(1.0, std::abs(want[i]))) << i;
}

std::string number(const std::string& name, float of) { return initializer(tensor(name, {}, {of})); }

TEST(OnnxPrepared, FactorsAndAddendsOfChannelsGoIntoTheConvolution) {
    const std::string filter = initializer(tensor("w", {2, 1, 1, 3}, {1, 2, 3, -1, 0, 1})) + node("Conv", {"x", "w"}, {"c"});
    const std::string channels =
        initializer(tensor("f", {1, 2, 1, 1}, {2, -3})) + initializer(tensor("a", {2, 1, 1}, {0.5F, 7}));
    const std::vector<std::string> x{"1", "1", "2", "6"}, conv{"Conv"};
    expect_becomes(filter + channels + node("Mul", {"f", "c"}, {"m"}) + node("Add", {"m", "a"}, {"y"}), x, conv);
    expect_becomes(filter + channels + node("Sub", {"c", "a"}, {"m"}) + node("Div", {"m", "f"}, {"y"}), x, conv);
    std::string norm;
    for (const char* name : {"s", "b", "m", "v"}) norm += initializer(tensor(name, {2}, {1.5F, 0.25F}));
    expect_becomes(filter + norm + node("BatchNormalization", {"c", "s", "b", "m", "v"}, {"y"}), x, conv);
    expect_becomes(filter + number("h", 0.5F) + node("Mul", {"c", "h"}, {"y"}), x, conv);
    // What is not one number a channel stays, and so does what somebody else takes as it is.
    expect_becomes(filter + channels + node("Sub", {"a", "c"}, {"y"}), x, {"Conv", "Sub"});
    const std::string along = initializer(tensor("l", {4}, {1, 2, 3, 4}));
    expect_becomes(filter + along + node("Mul", {"c", "l"}, {"y"}), x, {"Conv", "Mul"});
    expect_becomes(filter + channels + node("Mul", {"c", "f"}, {"m"}) + node("Add", {"m", "c"}, {"y"}), x,
                   {"Conv", "Mul", "Add"});
    const std::string up =
        initializer(tensor("w", {1, 2, 1, 3}, {1, 2, 3, -1, 0, 1})) + node("ConvTranspose", {"x", "w"}, {"c"});
    expect_becomes(up + norm + node("BatchNormalization", {"c", "s", "b", "m", "v"}, {"y"}), x, {"ConvTranspose"});
}

TEST(OnnxPrepared, FactorsAndAddendsGoIntoTheConvolutionBehindWhereNothingIsPadded) {
    const std::string filter =
        initializer(tensor("w", {2, 1, 1, 3}, {1, 2, 3, -1, 0, 1})) + initializer(tensor("b", {2}, {1, -1}));
    const std::string numbers = number("f", 3) + number("a", 0.5F) + number("zero", 0) + filter;
    const std::string before = numbers + node("Mul", {"x", "f"}, {"m"}) + node("Add", {"a", "m"}, {"s"});
    const std::vector<std::string> x{"1", "2", "2", "6"};
    const std::string two = integer("group", 2);
    expect_becomes(before + node("Conv", {"s", "w", "b"}, {"y"}, two), x, {"Conv"});
    expect_becomes(before + node("Conv", {"s", "w"}, {"y"}, two + integers("pads", {0, 0, 0, 0})), x, {"Conv"});
    expect_becomes(before + node("Conv", {"s", "w"}, {"y"}, two + integers("pads", {0, 1, 0, 1})), x,
                   {"Mul", "Add", "Conv"});
    expect_becomes(
        numbers + node("Sub", {"x", "a"}, {"m"}) + node("Div", {"m", "f"}, {"s"}) + node("Conv", {"s", "w"}, {"y"}, two), x,
        {"Conv"});
    expect_becomes(numbers + node("Sub", {"a", "x"}, {"s"}) + node("Conv", {"s", "w"}, {"y"}, two), x, {"Sub", "Conv"});
    // One channel that becomes two by the factors is no factor.
    const std::string widens = filter + initializer(tensor("p", {1, 2, 1, 1}, {1, 2})) + node("Mul", {"x", "p"}, {"s"});
    expect_becomes(widens + node("Conv", {"s", "w"}, {"y"}, two), {"1", "1", "2", "6"}, {"Mul", "Conv"});
}

TEST(OnnxPrepared, WhatGivesItsOperandAsItIsGoes) {
    const std::string numbers = number("one", 1) + number("zero", 0);
    expect_becomes(numbers + node("Mul", {"x", "one"}, {"m"}) + node("Add", {"m", "zero"}, {"s"}) +
                       node("Identity", {"s"}, {"i"}) + node("Abs", {"i"}, {"y"}),
                   {"4"}, {"Abs"});
    expect_becomes(
        numbers + node("Mul", {"x", "one"}, {"b"}) + node("Sigmoid", {"b"}, {"s"}) + node("Mul", {"x", "s"}, {"y"}), {"4"},
        {"Swish"});
    expect_becomes(numbers + node("Abs", {"x"}, {"a"}) + node("Identity", {"a"}, {"y"}), {"4"}, {"Abs", "Identity"});
    const std::string wide =
        initializer(tensor("w", {1, 1}, {1})) + node("Mul", {"x", "w"}, {"m"}) + node("Abs", {"m"}, {"y"});
    expect_becomes(wide, {"4"}, {"Mul", "Abs"});  // two axes come out
}

TEST(OnnxPrepared, ActivationsInPartsBecomeOne) {
    const std::string numbers = number("three", 3) + number("six", 6) + number("zero", 0) + number("seven", 7);
    const std::string clipped = numbers + node("Add", {"x", "three"}, {"a"}) + node("Clip", {"a", "zero", "six"}, {"c"});
    const std::vector<std::string> x{"9"};
    expect_becomes(clipped + node("Mul", {"x", "c"}, {"m"}) + node("Div", {"m", "six"}, {"y"}), x, {"HardSwish"});
    expect_becomes(clipped + node("Div", {"c", "six"}, {"d"}) + node("Mul", {"d", "x"}, {"y"}), x, {"HardSwish"});
    expect_becomes(clipped + node("Div", {"c", "six"}, {"y"}), x, {"HardSigmoid"});
    expect_becomes(clipped + node("Div", {"c", "seven"}, {"y"}), x, {"Add", "Clip", "Div"});
    expect_becomes(node("Sigmoid", {"x"}, {"s"}) + node("Mul", {"x", "s"}, {"y"}), x, {"Swish"});
    expect_becomes(node("Sigmoid", {"x"}, {"s"}) + node("Abs", {"x"}, {"a"}) + node("Mul", {"a", "s"}, {"y"}), x,
                   {"Sigmoid", "Abs", "Mul"});
}

TEST(OnnxPrepared, NormsInPartsBecomeOne) {
    const std::string axes = integers("axes", {-1});
    const auto norm = [&](const std::string& first_axes) {
        return number("two", 2) + number("e", 1e-5F) + initializer(tensor("g", {3}, {1, 2, 3})) +
               initializer(tensor("b", {3}, {3, 2, 1})) + node("ReduceMean", {"x"}, {"m"}, first_axes) +
               node("Sub", {"x", "m"}, {"d"}) + node("Pow", {"d", "two"}, {"p"}) + node("ReduceMean", {"p"}, {"v"}, axes) +
               node("Add", {"v", "e"}, {"ve"}) + node("Sqrt", {"ve"}, {"s"}) + node("Div", {"d", "s"}, {"q"}) +
               node("Mul", {"q", "g"}, {"qg"}) + node("Add", {"qg", "b"}, {"y"});
    };
    expect_becomes(norm(axes), {"4", "3"}, {"LayerNormalization"});
    expect_becomes(norm(integers("axes", {0})), {"4", "3"},
                   {"ReduceMean", "Sub", "Pow", "ReduceMean", "Add", "Sqrt", "Div", "Mul", "Add"});
}

// ---- what changed between opsets --------------------------------------------------------------------------------------------

std::vector<double> of_opset(uint64_t opset, const std::string& nodes, const std::vector<std::string>& extents,
                             const std::vector<float>& x) {
    const std::string text = model(input(value("x", kF32, extents)) + output(value("y", kF32, {})) + nodes, opset);
    return run(parsed(text), x);
}

TEST(OnnxOpsets, AScaleOfGroupNormalizationIsOfAGroupAndThenOfAChannel) {
    const std::string groups = initializer(tensor("s", {2}, {2, 3})) + initializer(tensor("b", {2}, {10, 20}));
    const std::string channels =
        initializer(tensor("s", {4}, {2, 2, 3, 3})) + initializer(tensor("b", {4}, {10, 10, 20, 20}));
    const std::string norm = node("GroupNormalization", {"x", "s", "b"}, {"y"}, integer("num_groups", 2));
    const std::vector<float> x{1, 3, 5, 9};
    const std::vector<double> old = of_opset(18, groups + norm, {"1", "4", "1"}, x),
                              now = of_opset(21, channels + norm, {"1", "4", "1"}, x);
    ASSERT_EQ(old.size(), 4U);
    EXPECT_NEAR(old[0], 8, 1e-4);
    EXPECT_NEAR(old[3], 23, 1e-4);
    EXPECT_EQ(old, now);
    const std::string three = node("GroupNormalization", {"x", "s", "b"}, {"y"}, integer("num_groups", 3));
    expect_error([&] { of_opset(18, groups + three, {"1", "4", "1"}, x); }, Code::unsupported, "4 channels in 3 groups");
}

TEST(OnnxOpsets, UpsampleHadItsScalesAsAnAttribute) {
    const std::string scales = field(5, field(1, "scales") + field(7, raw(std::vector<float>{1, 1, 1, 2})) + field(20, 6));
    EXPECT_EQ(of_opset(7, node("Upsample", {"x"}, {"y"}, scales), {"1", "1", "1", "2"}, {3, 4}),
              (std::vector<double>{3, 3, 4, 4}));
}

TEST(OnnxOpsets, AxesOfPadsAreAnOperandSince18) {
    const std::string operands = initializer(tensor("p", kI64, {2}, raw(std::vector<int64_t>{1, 2}))) +
                                 initializer(tensor("v", {}, {7})) +
                                 initializer(tensor("a", kI64, {1}, raw(std::vector<int64_t>{-1})));
    EXPECT_EQ(of_opset(18, operands + node("Pad", {"x", "p", "v", "a"}, {"y"}), {"1", "2"}, {3, 4}),
              (std::vector<double>{7, 3, 4, 7, 7}));
}

TEST(OnnxOpsets, SwishOf24HasAnAlpha) {
    const std::string alpha = field(5, field(1, "alpha") + field(2, std::string()) + field(20, 1));
    const std::vector<double> y = of_opset(24, node("Swish", {"x"}, {"y"}), {"1"}, {2});
    EXPECT_NEAR(y.at(0), 2 / (1 + std::exp(-2.0)), 1e-6);
    error_of([&] { of_opset(24, node("Swish", {"x"}, {"y"}, alpha), {"1"}, {2}); }, Code::corrupt);
}

TEST(OnnxPrepared, WhatFollowsFromInitializersIsOne) {
    const std::string shape = initializer(tensor("s", kI64, {2}, raw(std::vector<int64_t>{3, 2})));
    const std::string w = initializer(tensor("w", {2, 3}, {1, 2, 3, 4, 5, 6}));
    expect_becomes(w + shape + node("Reshape", {"w", "s"}, {"r"}) +
                       node("Transpose", {"r"}, {"t"}, integers("perm", {1, 0})) + node("MatMul", {"x", "t"}, {"y"}),
                   {"1", "2"}, {"MatMul"});
}

TEST(OnnxPrepared, LargeTensorsAreWeightsWithNamesOfTheirOwn) {
    const std::vector<float> ones(256, 1);
    const std::string body =
        initializer(tensor("w", {256}, ones)) + node("Mul", {"x", "w"}, {"in"}) + output(value("in", kF32, {}));
    const std::string yes = initializer(tensor("yes", kBool, {}, "\1"));
    const std::string text = model(input(value("x", kF32, {"256"})) + output(value("y", kF32, {})) +
                                   initializer(tensor("w", {256}, std::vector<float>(256, 2))) + yes +
                                   node("If", {"yes"}, {"b"}, branch("then_branch", body) + branch("else_branch", body)) +
                                   node("Add", {"b", "w"}, {"y"}));
    const OnnxModel read = formats::prepared(parsed(text));
    EXPECT_EQ(formats::weights_of(read).size(), 3U) << "of two branches and around them, one name in the file";
    EXPECT_EQ(formats::graph_of(read).with_role(Role::weight).size(), 2U);
    EXPECT_EQ(formats::graph_of(read).with_role(Role::constant).size(), 0U);
}

}  // namespace
}  // namespace backplane::onnx_prepare_test
