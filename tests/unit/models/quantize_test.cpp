// Weights of any network in fewer bits: what is refused first, then what stays as it is, and how far the rest is off.
#include "backplane/quantize.hpp"

#include <cmath>

#include "graph/element_types.hpp"
#include "support.hpp"

namespace backplane {
namespace {

std::vector<float> some_numbers(size_t count) {
    std::vector<float> numbers(count);
    for (size_t i = 0; i < count; ++i) numbers[i] = static_cast<float>(std::sin(static_cast<double>(i) * 1.7) * 0.3);
    return numbers;
}

struct Given {
    TemporaryFolder folder;
    GgufWriter writer;
    std::vector<std::vector<std::byte>> held;

    void add(const std::string& name, Shape shape, DType dtype = DType::f32) {
        const std::vector<float> numbers = some_numbers(static_cast<size_t>(elements(shape)));
        held.push_back(graph::encode(std::vector<double>(numbers.begin(), numbers.end()), dtype));
        writer.add(name, dtype, std::move(shape), held.back());
    }
    WeightFile open() {
        writer.write(folder / "in.gguf");
        return WeightFile::open(folder / "in.gguf");
    }
    [[nodiscard]] bool wrote() const { return std::filesystem::exists(folder / "out.gguf"); }
};

const QuantizedTensor& named(const std::vector<QuantizedTensor>& all, const std::string& name) {
    const auto found = std::find_if(all.begin(), all.end(), [&](const QuantizedTensor& t) { return t.name == name; });
    if (found == all.end()) throw Error(Code::not_found, name);
    return *found;
}

TEST(Quantize, WhatCannotBeIsRefusedAndNothingIsWritten) {
    Given given;
    given.add("blk.0.w", {4, 256});
    const WeightFile file = given.open();
    expect_error([&] { quantize(file, given.folder / "out.gguf", {.dtype = DType::q2_k}); }, Code::invalid, "q2_k");
    expect_error([&] { quantize(file, given.folder / "out.gguf", {.dtype = DType::i8}); }, Code::invalid, "i8");
    std::atomic<uint32_t> cancel{1};
    expect_error([&] { quantize(file, given.folder / "out.gguf", {.cancel = &cancel}); }, Code::cancelled, "cancelled");
    std::vector<float> broken = some_numbers(256);
    broken[200] = NAN;
    GgufWriter writer;
    writer.add("bad", DType::f32, {1, 256}, std::as_bytes(std::span(broken)));
    writer.write(given.folder / "bad.gguf");
    const WeightFile bad = WeightFile::open(given.folder / "bad.gguf");
    expect_error([&] { quantize(bad, given.folder / "out.gguf"); }, Code::corrupt, "bad");
    const std::string header = R"({"w":{"dtype":"F8_E5M2","shape":[2,32],"data_offsets":[0,64]}})";
    const uint64_t length = header.size();
    write_file(given.folder / "f8.safetensors",
               std::string(reinterpret_cast<const char*>(&length), sizeof length) + header + std::string(64, 'a'));
    const WeightFile f8 = WeightFile::open(given.folder / "f8.safetensors");
    expect_error([&] { quantize(f8, given.folder / "out.gguf"); }, Code::unsupported, "F8_E5M2");
    EXPECT_FALSE(given.wrote());
}

TEST(Quantize, NumbersThatATypeDoesNotHoldAreNotCutOff) {
    const TemporaryFolder folder;
    const auto quantized = [&](double most, DType dtype) {
        std::vector<float> numbers = some_numbers(512);
        numbers[300] = static_cast<float>(most);
        GgufWriter writer;
        writer.add("big", DType::f32, {2, 256}, std::as_bytes(std::span(numbers)));
        writer.write(folder / "in.gguf");
        return quantize(WeightFile::open(folder / "in.gguf"), folder / "out.gguf", {.dtype = dtype});
    };
    for (const DType dtype : {DType::f16, DType::q8_0, DType::q6_k, DType::q5_k, DType::q5_0, DType::q4_k, DType::q4_0}) {
        expect_error([&] { quantized(-3e38, dtype); }, Code::invalid, "'big' has numbers up to 3e+38");
        EXPECT_FALSE(std::filesystem::exists(folder / "out.gguf")) << name_of(dtype);
    }
    for (const DType dtype : {DType::q8_0, DType::q6_k, DType::q5_k, DType::q5_0, DType::q4_k, DType::q4_0})
        EXPECT_LT(quantized(3e5, dtype).front().error, 0.1) << name_of(dtype);
    EXPECT_LT(quantized(65504, DType::f16).front().error, 1e-3);
    EXPECT_LT(quantized(-3e38, DType::bf16).front().error, 1e-2);
}

TEST(Quantize, MatricesGetFewerBitsAndAllElseStaysAsItIs) {
    Given given;
    given.writer.set("general.architecture", std::string("none"));
    given.writer.set("general.file_type", int64_t{1});
    given.add("blk.0.attn.weight", {6, 512}, DType::f16);
    given.add("blk.0.short.weight", {6, 96});
    given.add("blk.0.odd.weight", {6, 33});
    given.add("blk.0.attn_norm.weight", {2, 256});
    given.add("blk.0.attn.bias", {256});
    given.add("token_embd.weight", {8, 256});
    given.add("head.weight", {8, 256});
    given.add("blocks", {2, 64}, DType::q8_0);
    const WeightFile file = given.open();
    double last = 0;
    QuantizeOptions options{.dtype = DType::q4_k, .keep = {"head.*"}};
    options.progress = [&](double done) {
        EXPECT_GE(done, last);
        last = done;
    };
    const std::vector<QuantizedTensor> told = quantize(file, given.folder / "out.gguf", options);
    EXPECT_EQ(last, 1);
    const WeightFile out = WeightFile::open(given.folder / "out.gguf");
    const std::map<std::string, DType> wanted{{"blk.0.attn.weight", DType::q4_k}, {"blk.0.short.weight", DType::q5_0},
                                              {"blk.0.odd.weight", DType::f32},   {"blk.0.attn_norm.weight", DType::f32},
                                              {"blk.0.attn.bias", DType::f32},    {"token_embd.weight", DType::f32},
                                              {"head.weight", DType::f32},        {"blocks", DType::q8_0}};
    ASSERT_EQ(told.size(), wanted.size());
    for (const auto& [name, dtype] : wanted) {
        const QuantizedTensor& tensor = named(told, name);
        EXPECT_EQ(tensor.to, dtype) << name;
        EXPECT_EQ(out.find(name)->dtype, dtype) << name;
        EXPECT_EQ(out.find(name)->shape, file.find(name)->shape) << name;
        EXPECT_EQ(tensor.bytes_after, out.find(name)->bytes) << name;
        EXPECT_EQ(tensor.why.empty(), name == "blk.0.attn.weight") << name << ": " << tensor.why;
        const std::vector<double> before = graph::decode(file.data(name), file.find(name)->dtype);
        const std::vector<double> after = graph::decode(out.data(name), dtype);
        double wrong = 0, all = 0;
        for (size_t i = 0; i < before.size(); ++i) {
            wrong += (after[i] - before[i]) * (after[i] - before[i]);
            all += before[i] * before[i];
        }
        EXPECT_NEAR(tensor.error, std::sqrt(wrong / all), 1e-12) << name;
        if (dtype == file.find(name)->dtype)
            EXPECT_EQ(tensor.error, 0) << name;
        else
            EXPECT_TRUE(tensor.error > 0 && tensor.error < 0.12) << name << " " << tensor.error;
    }
    EXPECT_EQ(out.metadata().at(0).first, "general.architecture");
    EXPECT_EQ(out.metadata().at(1).second, GgufValue(int64_t{15})) << "mostly q4_k_m, as others number it";
    const auto with = quantize(file, given.folder / "out.gguf", {.dtype = DType::q8_0, .embeddings = true});
    EXPECT_EQ(named(with, "token_embd.weight").to, DType::q8_0);
    EXPECT_EQ(named(with, "blocks").why, "");
}

// Pieces of a tensor are done on several threads: as one thread does them, bit by bit.
TEST(Quantize, AnyNumberOfThreadsMakesTheSameBytes) {
    Given given;
    given.add("w", {600, 256});
    const WeightFile file = given.open();
    quantize(file, given.folder / "one.gguf", {.dtype = DType::q6_k, .threads = 1});
    quantize(file, given.folder / "many.gguf", {.dtype = DType::q6_k, .threads = 5});
    const WeightFile one = WeightFile::open(given.folder / "one.gguf"), many = WeightFile::open(given.folder / "many.gguf");
    EXPECT_TRUE(std::ranges::equal(one.data("w"), many.data("w")));
}

}  // namespace
}  // namespace backplane
