// Weights of any network by name, from each of the formats: broken files first.
#include "backplane/weight_file.hpp"

#include "backplane/ops.hpp"
#include "graph/evaluate.hpp"
#include "onnx_bytes.hpp"
#include "support.hpp"

namespace backplane {
namespace {

const std::vector<float> kWeight{1, 2, 3, 4, 5, 6};

std::string floats(const std::vector<float>& values) { return onnx_bytes::raw(values); }

// One tensor "w", and data that begins `off` bytes behind a multiple of 8.
std::string safetensors_of(const std::string& tensor, const std::string& data, size_t off = 0) {
    std::string header = R"({"__metadata__":{"format":"pt","odd":7},)" + tensor + "}";
    while ((header.size() + 8) % 8 != off) header += ' ';
    const uint64_t length = header.size();
    return std::string(reinterpret_cast<const char*>(&length), sizeof length) + header + data;
}

std::string safetensors_w(size_t off = 0) {
    return safetensors_of(R"("w":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]})", floats(kWeight), off);
}

std::string onnx_w() {
    return onnx_bytes::model(onnx_bytes::node("Relu", {"x"}, {"y"}) +
                             onnx_bytes::initializer(onnx_bytes::tensor("w", {2, 3}, kWeight)));
}

// x of [1, 3] times the file's "w", transposed.
std::vector<float> product(const WeightFile& file) {
    Graph graph;
    const TensorId x = graph.input("x", DType::f32, {1, 3});
    graph.output(ops::matmul(graph, x, file.add(graph, "w"), {.transpose_b = true}), "y");
    const std::vector<float> in{1, 10, 100};
    std::vector<float> out(2);
    const graph::TensorBytes inputs[] = {{x, std::as_bytes(std::span(in))}, {graph.find("w"), file.source()("w")}};
    const graph::TensorRoom rooms[] = {{graph.find("y"), std::as_writable_bytes(std::span(out))}};
    graph::evaluate(graph, inputs, rooms);
    return out;
}

TEST(WeightFile, WhatIsNoSuchFileSaysSo) {
    const TemporaryFolder folder;
    expect_error([&] { WeightFile::open(folder / "none.safetensors"); }, Code::not_found, "none.safetensors");
    expect_error([&] { WeightFile::open(folder.path()); }, Code::not_found, "model.safetensors.index.json");
    write_file(folder / "empty", "");
    expect_error([&] { WeightFile::open(folder / "empty"); }, Code::corrupt, "no GGUF file");
    write_file(folder / "text.bin", "hello, this is a file of weights");
    expect_error([&] { WeightFile::open(folder / "text.bin"); }, Code::corrupt, "text.bin");
    write_file(folder / "cut.gguf", "GG");
    expect_error([&] { WeightFile::open(folder / "cut.gguf"); }, Code::corrupt, "cut.gguf");
    write_file(folder / "cut.safetensors", safetensors_w().substr(0, 60));
    expect_error([&] { WeightFile::open(folder / "cut.safetensors"); }, Code::corrupt, "cut.safetensors");
    write_file(folder / "model.safetensors.index.json", R"({"weight_map":{"w":"../elsewhere.safetensors"}})");
    expect_error([&] { WeightFile::open(folder.path()); }, Code::corrupt, "elsewhere");
}

TEST(WeightFile, EachFormatGivesTheSameWeightsByName) {
    const TemporaryFolder folder;
    write_file(folder / "a.safetensors", safetensors_w());
    write_file(folder / "off.safetensors", safetensors_w(3));
    write_file(folder / "a.onnx", onnx_w());
    GgufWriter writer;
    writer.set("general.architecture", std::string("none"));
    writer.add("w", DType::f32, {2, 3}, std::as_bytes(std::span(kWeight)));
    writer.write(folder / "a.gguf");
    const std::map<std::string, std::string> formats{
        {"a.safetensors", "safetensors"}, {"off.safetensors", "safetensors"}, {"a.onnx", "ONNX"}, {"a.gguf", "GGUF"}};
    for (const auto& [name, format] : formats) {
        const WeightFile file = WeightFile::open(folder / name);
        EXPECT_EQ(file.format(), format) << name;
        ASSERT_EQ(file.tensors().size(), 1U) << name;
        const WeightTensor* w = file.find("w");
        ASSERT_NE(w, nullptr) << name;
        EXPECT_EQ(w->dtype, DType::f32) << name;
        EXPECT_EQ(w->shape, (Shape{2, 3})) << name;
        EXPECT_EQ(w->bytes, 24U) << name;
        EXPECT_EQ(reinterpret_cast<uintptr_t>(file.data("w").data()) % 4, 0U) << name;
        EXPECT_EQ(product(file), (std::vector<float>{321, 654})) << name;
        EXPECT_EQ(file.find("v"), nullptr);
        EXPECT_TRUE(file.source()("v").empty());
    }
    EXPECT_EQ(WeightFile::open(folder / "a.gguf").metadata().at(0).first, "general.architecture");
    const auto said = WeightFile::open(folder / "a.safetensors").metadata();
    ASSERT_EQ(said.size(), 1U);
    EXPECT_EQ(said[0].second, GgufValue(std::string("pt")));
}

TEST(WeightFile, BytesOnTheirAlignmentAreThoseOfTheMapping) {
    const TemporaryFolder folder;
    write_file(folder / "a.safetensors", safetensors_w());
    write_file(folder / "off.safetensors", safetensors_w(3));
    const WeightFile good = WeightFile::open(folder / "a.safetensors"), off = WeightFile::open(folder / "off.safetensors");
    EXPECT_EQ(good.data("w").data(), good.source()("w").data());
    EXPECT_EQ(off.data("w").data(), off.source()("w").data()) << "copied once";
    EXPECT_EQ(reinterpret_cast<uintptr_t>(good.data("w").data()) % 8, 0U) << "where the file has it";
}

TEST(WeightFile, SeveralFilesAndTheirFolderAreOne) {
    const TemporaryFolder folder;
    write_file(folder / "one.safetensors", safetensors_w());
    write_file(folder / "two.safetensors",
               safetensors_of(R"("bias":{"dtype":"F8_E4M3","shape":[2],"data_offsets":[0,2]})", "ab", 1));
    write_file(folder / "model.safetensors.index.json",
               R"({"weight_map":{"w":"one.safetensors","bias":"two.safetensors"}})");
    const WeightFile file = WeightFile::open(folder.path());
    EXPECT_EQ(file.tensors().size(), 2U);
    EXPECT_EQ(product(file), (std::vector<float>{321, 654}));
    EXPECT_EQ(file.find("bias")->dtype, DType::unknown);
    EXPECT_EQ(file.find("bias")->type, "F8_E4M3");
    EXPECT_EQ(file.data("bias").size(), 2U);
    Graph graph;
    expect_error([&] { file.add(graph, "bias"); }, Code::unsupported, "F8_E4M3");
    expect_error([&] { file.add(graph, "baas"); }, Code::not_found, "did you mean 'bias'");
}

TEST(WeightFile, ASourceOutlivesTheFile) {
    const TemporaryFolder folder;
    write_file(folder / "a.safetensors", safetensors_w());
    WeightSource source;
    {
        const WeightFile file = WeightFile::open(folder / "a.safetensors");
        source = file.source();
    }
    EXPECT_EQ(static_cast<char>(source("w")[3]), floats(kWeight)[3]);
}

}  // namespace
}  // namespace backplane
