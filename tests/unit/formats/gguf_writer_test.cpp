// What the writer writes, and what it leaves behind when it cannot.
#include <limits>

#include "backplane/gguf.hpp"
#include "support.hpp"

namespace backplane {
namespace {

std::vector<std::byte> some_bytes(size_t count) {
    std::vector<std::byte> bytes(count);
    for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(i * 7);
    return bytes;
}

TEST(GgufWriter, WhatDoesNotFitIsRefused) {
    GgufWriter writer;
    const std::vector<std::byte> bytes = some_bytes(24);
    expect_error([&] { writer.add("t", DType::f32, {5}, bytes); }, Code::invalid, "20 bytes, 24 given");
    expect_error([&] { writer.add("t", DType::u8, {24}, bytes); }, Code::invalid, "no element type u8");
    expect_error([&] { writer.add("t", DType::unknown, {24}, bytes); }, Code::invalid, "no element type");
    expect_error([&] { writer.add("", DType::f32, {6}, bytes); }, Code::invalid, "name of 0 bytes");
    expect_error([&] { writer.add("t", DType::i8, {24, 1, 1, 1, 1, 1, 1, 1, 1}, bytes); }, Code::invalid, "rank 9");
    expect_error([&] { writer.add("t", DType::q8_0, {31}, bytes); }, Code::invalid, "multiple of 32");
    expect_error([&] { writer.add("t", DType::f32, {-6}, bytes); }, Code::invalid, "negative");
    writer.add("t", DType::f32, {6}, bytes);
    expect_error([&] { writer.add("t", DType::f32, {6}, bytes); }, Code::invalid, "taken");
    expect_error([&] { writer.set("", true); }, Code::invalid, "key of 0 bytes");
    expect_error([&] { writer.set("general.alignment", int64_t{64}); }, Code::invalid, "general.alignment");
}

TEST(GgufWriter, WhatIsWrittenIsReadBack) {
    const TemporaryFolder folder;
    const std::vector<std::pair<std::string, GgufValue>> metadata{
        {"bool", true},
        {"small", int64_t{7}},
        {"large", int64_t{1} << 40},
        {"negative", int64_t{-1}},
        {"huge", uint64_t{UINT64_MAX}},
        {"double", 0.1},
        {"infinite", std::numeric_limits<double>::infinity()},
        {"text", std::string("a\0b\n", 4)},
        {"integers", std::vector<int64_t>{-1, 0, 1}},
        {"large integers", std::vector<int64_t>{INT64_MIN, INT64_MAX}},
        {"doubles", std::vector<double>{0.1, -2}},
        {"texts", std::vector<std::string>{"", "x y"}},
        {"no texts", std::vector<std::string>{}},
    };
    GgufWriter writer;
    writer.set("small", std::string("set again below, in its old place"));
    for (const auto& [key, value] : metadata) writer.set(key, value);
    const std::vector<std::byte> bytes = some_bytes(68);
    const std::span<const std::byte> all(bytes);
    writer.add("scalar", DType::f32, {}, all.first(4));
    writer.add("matrix", DType::f16, {2, 3, 5}, all.first(60));
    writer.add("empty", DType::f64, {4, 0}, {});
    writer.add("blocks", DType::q8_0, {2, 32}, all);
    writer.write(folder / "a.gguf");

    const GgufFile file = GgufFile::open(folder / "a.gguf");
    EXPECT_EQ(file.metadata().size(), metadata.size());
    EXPECT_EQ(file.metadata()[0].first, "small");
    for (const auto& [key, value] : metadata) {
        ASSERT_NE(file.find(key), nullptr) << key;
        EXPECT_EQ(*file.find(key), value) << key;
    }
    EXPECT_EQ(file.find_tensor("scalar")->shape, Shape{});
    EXPECT_EQ(file.find_tensor("matrix")->shape, (Shape{2, 3, 5}));
    EXPECT_EQ(file.find_tensor("matrix")->dtype, DType::f16);
    EXPECT_EQ(file.find_tensor("empty")->shape, (Shape{4, 0}));
    EXPECT_EQ(std::memcmp(file.data("blocks").data(), bytes.data(), 68), 0);
    for (const GgufTensor& tensor : file.tensors()) EXPECT_EQ(tensor.offset % 32, 0U) << tensor.name;
    EXPECT_EQ(std::filesystem::file_size(folder / "a.gguf") % 32, 0U) << "ggml reads the padding of the last tensor";
}

TEST(GgufWriter, SmallNumbersHaveTheTypesThatOtherReadersExpect) {
    const TemporaryFolder folder;
    GgufWriter writer;
    writer.set("k", int64_t{7});
    writer.write(folder / "a.gguf");
    const std::string text = read_file(folder / "a.gguf");
    EXPECT_EQ(text.substr(24, 17), std::string("\1\0\0\0\0\0\0\0k\4\0\0\0\7\0\0\0", 17));
}

TEST(GgufWriter, AnOldFileIsReplacedAndNothingElseIsLeft) {
    const TemporaryFolder folder;
    write_file(folder / "a.gguf", "old");
    write_file(folder / ".0123456789abcdef.partial", "of a run that was killed");
    GgufWriter writer;
    writer.set("k", true);
    writer.write(folder / "a.gguf");
    EXPECT_EQ(GgufFile::open(folder / "a.gguf").metadata().size(), 1U);
    EXPECT_EQ(folder.names().size(), 2U);
}

TEST(GgufWriter, NothingIsLeftWhereItCannotWrite) {
    const TemporaryFolder folder;
    GgufWriter writer;
    writer.set("k", true);
    expect_error([&] { writer.write(folder / "none/a.gguf"); }, Code::not_found, "none/a.gguf");
    std::filesystem::create_directory(folder / "a.gguf");
    write_file(folder / "a.gguf/inside", "x");
    error_of([&] { writer.write(folder / "a.gguf"); }, Code::invalid);
    EXPECT_EQ(folder.names(), std::vector<std::string>{"a.gguf"});
    expect_error([&] { writer.write(folder / std::string(300, 'x')); }, Code::invalid, "xxx");
    EXPECT_EQ(folder.names(), std::vector<std::string>{"a.gguf"});
}

}  // namespace
}  // namespace backplane
