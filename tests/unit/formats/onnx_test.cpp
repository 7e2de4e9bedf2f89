// What the reader and the converter of ONNX make of models that lie, and of small ones that do not.
#include "formats/onnx/convert.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "onnx_result.hpp"
#include "protobuf_bytes.hpp"
#include "support.hpp"

namespace backplane {
namespace {

using formats::OnnxAttribute;
using formats::OnnxModel;
using formats::OnnxNode;
using formats::OnnxTensor;

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text.data(), text.size())); }

// A tensor of f32 [2].
std::string two_floats() { return field(1, 2) + field(2, 1) + field(8, "w") + field(9, std::string(8, '\1')); }

void expect_refused(const std::string& bytes, Code code, const std::string& says) {
    expect_error([&] { formats::parse_onnx_tensor(bytes_of(bytes), "a file"); }, code, says);
}

TEST(OnnxReader, WhatIsNotTheWireFormatIsCorrupt) {
    expect_refused(std::string(11, '\xff'), Code::corrupt, "more than ten bytes");
    expect_refused("\xff", Code::corrupt, "a file");
    expect_refused("GGUF\x03", Code::corrupt, "no ONNX file");
    expect_refused(varint(9 << 3 | 2) + varint(uint64_t{1} << 63) + "x", Code::corrupt, "where 1 are left");
    expect_refused(varint(9 << 3 | 3), Code::corrupt, "wire type");
    expect_refused(std::string("\0\0", 2), Code::corrupt, "a key of 0");
    expect_refused(field(4, "12345"), Code::corrupt, "a part of a number");
    expect_refused(field(9, 1), Code::corrupt, "no bytes");
    expect_refused(field(2, "f32"), Code::corrupt, "no integer");
}

// A model of one node whose attribute is a graph, and so on.
std::string nested_graphs(int depth) {
    std::string graph;
    for (int i = 0; i < depth; ++i)
        graph = field(1, field(4, "If") + field(5, field(1, "then_branch") + field(6, graph) + field(20, 5)));
    return field(7, graph);
}

TEST(OnnxReader, GraphsOfAttributesAreReadAndNotForEver) {
    const OnnxModel model = formats::parse_onnx(bytes_of(nested_graphs(3)), "a file");
    const auto& branch = model.nodes.at(0).attributes.at("then_branch").graph;
    ASSERT_NE(branch, nullptr);
    EXPECT_EQ(branch->nodes.at(0).attributes.at("then_branch").graph->nodes.at(0).op, "If");
    EXPECT_NO_THROW(formats::parse_onnx(bytes_of(nested_graphs(32)), "a file"));
    expect_error([] { formats::parse_onnx(bytes_of(nested_graphs(40)), "a file"); }, Code::corrupt, "more than 32 deep");
}

TEST(OnnxReader, WhatIsWrongInAnAttributeNamesTheFileInOneLineWhateverItsNames) {
    const auto model_of = [](const std::string& attribute) {
        return field(7, field(1, field(4, "If") + field(5, attribute)));
    };
    const auto refused = [&](const std::string& attribute, const std::string& says) {
        expect_error([&] { formats::parse_onnx(bytes_of(model_of(attribute)), "v.onnx"); }, Code::corrupt, says);
    };
    refused(field(1, "else\nbranch") + field(6, "\xff") + field(20, 5), "cannot read 'v.onnx', attribute 'else?branch': ");
    refused(field(1, "value") + field(5, field(4, "12345")) + field(20, 4), "cannot read 'v.onnx', attribute 'value': ");
    refused(field(1, "a\nb") + field(20, 1), "the attribute 'a?b' has no value");
    const std::string tensor = field(1, 3) + field(2, 1) + field(8, "w\n\x1b[2J") + field(9, "1234");
    refused(field(1, "value") + field(5, tensor) + field(20, 4), "the tensor 'w??[2J' of f32 [3] has 4 bytes");
}

TEST(OnnxReader, NamesThatTwoNodesWriteAreCorrupt) {
    const auto writes = [](const std::string& a, const std::string& b) {
        const auto node = [](const std::string& name) { return field(1, field(2, name) + field(4, "Relu")); };
        return field(7, node(a) + node(b));
    };
    expect_error([&] { formats::parse_onnx(bytes_of(writes("y", "y")), "a file"); }, Code::corrupt,
                 "two nodes of a graph write 'y'");
    EXPECT_NO_THROW(formats::parse_onnx(bytes_of(writes("y", "z")), "a file"));
    EXPECT_NO_THROW(formats::parse_onnx(bytes_of(writes("", "")), "a file")) << "results that nobody wants";
}

TEST(OnnxReader, ATensorOfAnotherSizeThanItSaysIsCorrupt) {
    EXPECT_EQ(formats::parse_onnx_tensor(bytes_of(two_floats()), "a file").shape, Shape{2});
    expect_refused(two_floats() + field(1, 2), Code::corrupt, "has 8 bytes");
    expect_refused(field(1, 2) + field(2, 1), Code::corrupt, "has 0 bytes");
    expect_refused(two_floats() + field(1, ~uint64_t{0}), Code::corrupt, "shape [2, -1]");
    std::string deep = field(2, 1);
    for (int i = 0; i < 9; ++i) deep += field(1, 1);
    expect_refused(deep + field(9, "1234"), Code::corrupt, "a tensor of shape");
    error_of([] { formats::parse_onnx_tensor(bytes_of(two_floats() + field(1, uint64_t{1} << 62)), "a file"); },
             Code::invalid);
}

TEST(OnnxReader, TypesThatGraphsDoNotHaveAndOtherFilesAreUnsupported) {
    for (const uint64_t type : {0, 8, 14, 99})
        expect_refused(field(2, type), Code::unsupported, "element type " + std::to_string(type));
    expect_refused(field(2, 8), Code::unsupported, "(string)");
    expect_refused(field(2, ~uint64_t{0}), Code::unsupported, "(no type)");
    expect_refused(two_floats() + field(14, 1), Code::unsupported, "'w' lies in another file");
}

TEST(OnnxReader, NumbersWithoutASignAreHeldAsBits) {
    const std::string numbers = field(11, varint(3) + varint(0xFFFFFFFF));
    const OnnxTensor narrow = formats::parse_onnx_tensor(bytes_of(field(1, 2) + field(2, 12) + numbers), "a file");
    EXPECT_TRUE(narrow.dtype == DType::i32 && narrow.is_unsigned);
    EXPECT_EQ(narrow.data.size(), 8U);
    EXPECT_EQ(narrow.data[7], std::byte{255});
    const OnnxTensor wide = formats::parse_onnx_tensor(bytes_of(field(1, 2) + field(2, 13) + numbers), "a file");
    EXPECT_TRUE(wide.dtype == DType::i64 && wide.is_unsigned);
    EXPECT_EQ(wide.data.size(), 16U);
    EXPECT_TRUE(wide.data[11] == std::byte{255} && wide.data[12] == std::byte{0});
}

TEST(OnnxReader, NumbersComePackedOrOneByOne) {
    const std::string packed = field(1, varint(1) + varint(2)) + field(2, 7) + field(7, varint(3) + varint(~uint64_t{0}));
    const std::string single = field(1, 1) + field(1, 2) + field(2, 7) + field(7, 3) + field(7, ~uint64_t{0});
    for (const std::string& text : {packed, single}) {
        const OnnxTensor tensor = formats::parse_onnx_tensor(bytes_of(text), "a file");
        EXPECT_EQ(tensor.shape, (Shape{1, 2}));
        int64_t values[2] = {};
        ASSERT_EQ(tensor.data.size(), sizeof values);
        std::memcpy(values, tensor.data.data(), sizeof values);
        EXPECT_EQ(values[0], 3);
        EXPECT_EQ(values[1], -1);
    }
}

TEST(OnnxReader, AnAttributeWithoutItsValueIsCorrupt) {
    for (const uint64_t kind : {1, 2, 3}) {
        const std::string node = field(4, "Relu") + field(5, field(1, "alpha") + field(20, kind));
        const std::string model = field(7, field(1, node));
        expect_error([&] { formats::parse_onnx(bytes_of(model), "a file"); }, Code::corrupt, "'alpha' has no value");
    }
}

// x[3] -> y of one node; more is put in by tests.
OnnxModel model_of(const OnnxNode& node) {
    return {17, {node}, {}, {{"x", true, DType::f32, {3}}}, {{"y", true, DType::f32, {3}}}};
}

TEST(OnnxConverter, ANodeOfAnOpBecomesThatOp) {
    const Graph graph = formats::graph_of(model_of({"Relu", "", "", {"x"}, {"y"}, {}}));
    ASSERT_EQ(graph.nodes().size(), 1U);
    EXPECT_EQ(graph.nodes().front().op, Op::relu);
    EXPECT_EQ(graph[graph.find("y")].shape, Shape{3});
}

TEST(OnnxConverter, WhatItCannotDoIsUnsupportedAndNamed) {
    const auto refused = [](const OnnxNode& node, const std::string& says) {
        expect_error([&] { formats::graph_of(model_of(node)); }, Code::unsupported, says);
    };
    refused({"NoSuchOperator", "", "", {"x"}, {"y"}, {}}, "NoSuchOperator: there is no such op");
    refused({"Relu", "com.example", "", {"x"}, {"y"}, {}}, "Relu: an operator of the domain com.example");
    refused({"NonZero", "", "", {"x"}, {"y"}, {}}, "NonZero: the size of its result");
    refused({"Compress", "", "", {"x", "x"}, {"y"}, {}}, "Compress: the size of its result");
    OnnxAttribute one;
    one.kind = OnnxAttribute::Kind::integer;
    one.integers = {1};
    refused({"Relu", "", "", {"x"}, {"y"}, {{"unheard_of", one}}}, "Relu: attribute 'unheard_of'");
    refused({"Expand", "", "", {"x", "x"}, {"y"}, {}}, "Expand: operand 1 must be known");
    refused({"Relu", "", "", {"x"}, {"z", "y"}, {}}, "Relu: result 1 is not computed");
}

TEST(OnnxConverter, NamesThatNothingGivesAreInvalid) {
    expect_error(
        [] {
            formats::graph_of(model_of({"Relu", "", "", {"w"}, {"y"}, {}}));
        },
        Code::invalid, "nothing gives 'w'");
    expect_error([] { formats::graph_of(model_of({"Relu", "", "", {"x"}, {"z"}, {}})); }, Code::invalid, "the output 'y'");
    expect_error(
        [] {
            formats::graph_of(model_of({"Relu", "", "", {}, {"y"}, {}}));
        },
        Code::invalid, "takes 1 inputs, 0 given");
    expect_error(
        [] {
            formats::graph_of(model_of({"Flatten", "", "", {}, {"y"}, {}}));
        },
        Code::invalid, "operand 0 is not given");
}

TEST(OnnxConverter, WhatDependsOnShapesAndConstantsAloneIsNoNode) {
    OnnxModel model = model_of({"Shape", "", "", {"x"}, {"s"}, {}});
    OnnxTensor two{"two", DType::i64, {1}, std::vector<std::byte>(8)};
    two.data[0] = std::byte{2};
    model.initializers = {two};
    model.nodes.push_back({"Mul", "", "", {"s", "two"}, {"twice"}, {}});
    model.nodes.push_back({"Tile", "", "", {"x", "two"}, {"tiled"}, {}});
    model.nodes.push_back({"Reshape", "", "", {"tiled", "twice"}, {"y"}, {}});
    const Graph graph = formats::graph_of(model);
    ASSERT_EQ(graph.nodes().size(), 2U);
    EXPECT_EQ(graph.nodes().front().op, Op::tile);
    EXPECT_EQ(graph[graph.find("y")].shape, Shape{6});
}

OnnxTensor numbers_of(const std::string& name, DType dtype, const std::vector<double>& values) {
    return {name, dtype, {static_cast<int64_t>(values.size())}, graph::encode(values, dtype)};
}

// What `op` of two constants gives, of the type of a.
std::vector<double> computed(const std::string& op, const OnnxTensor& a, const OnnxTensor& b) {
    OnnxModel model = model_of({op, "", "", {a.name, b.name}, {"y"}, {}});
    model.inputs.clear();
    model.initializers = {a, b};
    const Graph graph = formats::graph_of(model);
    EXPECT_EQ(graph[graph.with_role(Role::output).front()].dtype, a.dtype);
    return onnx_bytes::made_by(graph, {}).numbers;
}

TEST(OnnxConverter, SmallWholeNumbersWrapInTheirOwnType) {
    using Numbers = std::vector<double>;
    const auto of = [](const std::string& op, DType dtype, const Numbers& a, const Numbers& b) {
        return computed(op, numbers_of("a", dtype, a), numbers_of("b", dtype, b));
    };
    EXPECT_EQ(of("Add", DType::u8, {250, 255, 3}, {10, 1, 4}), (Numbers{4, 0, 7}));
    EXPECT_EQ(of("Sub", DType::u8, {3, 0, 9}, {4, 255, 9}), (Numbers{255, 1, 0}));
    EXPECT_EQ(of("Mul", DType::u16, {65535, 256, 7}, {65535, 256, 6}), (Numbers{1, 0, 42}));
    EXPECT_EQ(of("Add", DType::i8, {127, -128, -3}, {1, -1, 5}), (Numbers{-128, 127, 2}));
    EXPECT_EQ(of("Div", DType::i16, {-32768, -7, 7}, {-1, 2, 2}), (Numbers{-32768, -3, 3}));
}

TEST(OnnxConverter, PowersOfWholeNumbersAreExactWhereTheExponentIsWhole) {
    using Numbers = std::vector<double>;
    const auto of = [](DType base, const Numbers& a, DType exponent, const Numbers& b) {
        return computed("Pow", numbers_of("a", base, a), numbers_of("b", exponent, b));
    };
    EXPECT_EQ(of(DType::i32, {3, -3, 46341, 7}, DType::f32, {19, 3, 2, 0}), (Numbers{1162261467, -27, -2147479015, 1}))
        << "what does not fit wraps, as products of whole numbers do";
    EXPECT_EQ(of(DType::i64, {3, -1, 2}, DType::u8, {33, 255, 40}), (Numbers{5559060566555523, -1, 0x1p40}));
    EXPECT_EQ(of(DType::i32, {4, 27, 10, 2}, DType::f32, {0.5, 1.0F / 3, 0.5, -1}), (Numbers{2, 3, 3, 0}));
}

TEST(OnnxConverter, OperandsAndAttributesThatCannotBeAreErrors) {
    const auto ints = [](std::vector<int64_t> numbers) {
        OnnxAttribute list;
        list.kind = OnnxAttribute::Kind::integers;
        list.integers = std::move(numbers);
        return list;
    };
    const auto fails = [](const OnnxNode& node, const Shape& x, Code code, const std::string& says) {
        OnnxModel model = model_of(node);
        model.inputs.front().shape = x;
        model.initializers = {{"none", DType::i64, {0}, {}},
                              {"zeros", DType::i64, {2}, std::vector<std::byte>(16)},
                              {"nan", DType::f32, {4}, std::vector<std::byte>(16, std::byte{0xff})}};
        expect_error([&] { formats::graph_of(model); }, code, says);
    };
    fails({"TopK", "", "", {"x", "none"}, {"y"}, {}}, {3}, Code::unsupported, "operand 1 of 0 elements");
    fails({"Split", "", "", {"x"}, {}, {}}, {3}, Code::invalid, "Split");
    fails({"Split", "", "", {"x"}, {"y"}, {}}, {}, Code::invalid, "no axis 0 among 0");
    fails({"Unsqueeze", "", "", {"x", "zeros"}, {"y"}, {}}, {3}, Code::unsupported, "an axis twice");
    fails({"Unsqueeze", "", "", {"x", "nan"}, {"y"}, {}}, {3}, Code::unsupported,
          "operand 1 of f32, it is of whole numbers");
    fails({"Resize", "", "", {"x", "", "nan"}, {"y"}, {}}, {1, 1, 2, 2}, Code::unsupported, "Resize: by");
    fails({"Resize", "", "", {"x"}, {"y"}, {}}, {1, 1, 2, 2}, Code::unsupported, "not of all axes");
    fails({"MaxPool", "", "", {"x"}, {"y"}, {{"kernel_shape", ints({2, 2})}, {"strides", ints({0, 1})}}}, {1, 1, 4, 4},
          Code::unsupported, "a window of 0");
    fails({"MaxPool", "", "", {"x"}, {"y"}, {{"kernel_shape", ints({2, 2})}, {"pads", ints({1})}}}, {1, 1, 4, 4},
          Code::unsupported, "spatial axes");
}

// Sizes follow from values where those are known: of constants, and of inputs whose content is given.
TEST(OnnxConverter, WhatIsAsLargeAsValuesMakeItIsTakenWhereTheyAreKnown) {
    const std::vector<float> some{0, 2, -1}, none{0, 0, 0};
    for (const std::vector<float>& values : {some, none}) {
        OnnxTensor x{"x", DType::f32, {3}, {}};
        const auto bytes = std::as_bytes(std::span(values));
        x.data.assign(bytes.begin(), bytes.end());
        formats::OnnxGiven given;
        given.content = [&](const std::string& name) { return name == "x" ? &x : nullptr; };
        const int64_t count = std::count_if(values.begin(), values.end(), [](float value) { return value != 0; });
        const Graph positions = formats::graph_of(model_of({"NonZero", "", "", {"x"}, {"y"}, {}}), given);
        EXPECT_EQ(positions[positions.find("y")].shape, (Shape{1, count}));
        const Graph kept = formats::graph_of(model_of({"Compress", "", "", {"x", "x"}, {"y"}, {}}), given);
        EXPECT_EQ(kept[kept.find("y")].shape, Shape{count});
        const Graph distinct = formats::graph_of(model_of({"Unique", "", "", {"x"}, {"y"}, {}}), given);
        EXPECT_EQ(distinct[distinct.find("y")].shape, Shape{count + 1});
    }
    OnnxModel model = model_of({"Compress", "", "", {"x", "c"}, {"y"}, {}});
    model.initializers = {{"c", DType::boolean, {2}, {std::byte{0}, std::byte{1}}}};
    const Graph constant = formats::graph_of(model);
    EXPECT_EQ(constant[constant.find("y")].shape, Shape{1}) << "what a condition does not reach goes";
    OnnxTensor nan{"x", DType::f32, {3}, std::vector<std::byte>(12, std::byte{0xff})};
    formats::OnnxGiven given;
    given.content = [&](const std::string&) { return &nan; };
    expect_error(
        [&] {
            formats::graph_of(model_of({"Unique", "", "", {"x"}, {"y"}, {}}), given);
        },
        Code::unsupported, "Unique: of numbers that are none");
}

TEST(OnnxConverter, AnInputThatLeavesItsShapeOpenIsUnsupported) {
    OnnxModel model = model_of({"Relu", "", "", {"x"}, {"y"}, {}});
    model.inputs.front().shape = {-1, 3};
    expect_error([&] { formats::graph_of(model); }, Code::unsupported, "leaves its shape open");
}

}  // namespace
}  // namespace backplane
