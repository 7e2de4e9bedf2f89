// What the reader makes of files that lie, and of those that do not.
#include "backplane/gguf.hpp"
#include "gguf_bytes.hpp"
#include "support.hpp"

namespace backplane {
namespace {

constexpr uint64_t kHuge = UINT64_MAX;

GgufFile read(const std::string& text) { return GgufFile::from_memory(as_bytes(text), "test.gguf"); }

// Every kind of metadata and two tensors; the data of the last ends the file.
std::string good_file() {
    GgufBytes b;
    b.header(2, 15).key("u8", 0).number<uint8_t>(200).key("i8", 1).number<int8_t>(-3).key("u16", 2).number<uint16_t>(60000);
    b.key("i16", 3).number<int16_t>(-4).key("u32", 4).u32(4000000000U).key("i32", 5).number<int32_t>(-5);
    b.key("f32", 6).number(1.5F).key("bool", 7).number<uint8_t>(1).key("string", 8).text("text");
    b.key("u64", 10).u64(kHuge).key("i64", 11).number<int64_t>(INT64_MIN).key("f64", 12).number(0.1);
    b.key("array.u8", 9).u32(0).u64(3).raw("\1\2\3").key("array.string", 9).u32(8).u64(2).text("a").text("");
    b.key("array.bool", 9).u32(7).u64(2).number<uint8_t>(1).number<uint8_t>(0);
    b.tensor("matrix", {2, 3}, 0, 0).tensor("block", {32}, 2, 32);
    return b.pad().data(24).pad().data(18);
}

struct Lie {
    const char* name;
    std::string file;
    Code code;
    const char* about;
};

std::vector<Lie> lies_in_the_header() {
    return {
        {"empty", "", Code::corrupt, "ends inside"},
        {"other magic", std::string("GGML") + std::string(40, '\0'), Code::corrupt, "no GGUF file"},
        {"version 2", GgufBytes().header(0, 0, 2), Code::unsupported, "version 2"},
        {"version 4", GgufBytes().header(0, 0, 4), Code::unsupported, "version 4"},
        {"big-endian", GgufBytes().header(0, 0, 0x03000000), Code::unsupported, "big-endian"},
        {"tensors without end", GgufBytes().header(kHuge, 0), Code::corrupt, "number of tensors"},
        {"tensors just too many", GgufBytes().header(2, 0).tensor("a", {}, 24, 0).pad().data(1), Code::corrupt,
         "number of tensors"},
        {"keys without end", GgufBytes().header(0, kHuge), Code::corrupt, "number of metadata keys"},
        {"keys as many as bytes", GgufBytes().header(0, 100).raw(std::string(100, '\0')), Code::corrupt, "metadata keys"},
    };
}

std::vector<Lie> lies_in_the_metadata() {
    return {
        {"long key", GgufBytes().header(0, 1).u64(kHuge).raw("0123456789"), Code::corrupt, "length of a key"},
        {"empty key", GgufBytes().header(0, 1).key("", 0).raw("0123456789"), Code::corrupt, "a key of 0 bytes"},
        {"key of 65536 bytes", GgufBytes().header(0, 1).key(std::string(65536, 'k'), 0).raw("1"), Code::corrupt, "65536"},
        {"key twice", GgufBytes().header(0, 2).key("k", 0).raw("1").key("k", 0).raw("1"), Code::corrupt, "'k' comes twice"},
        {"key with a newline twice", GgufBytes().header(0, 2).key("\n", 0).raw("1").key("\n", 0).raw("1"), Code::corrupt,
         "'?'"},
        {"type 13", GgufBytes().header(0, 1).key("k", 13).raw("0123456789"), Code::corrupt, "type 13"},
        {"type of all ones", GgufBytes().header(0, 1).key("k", UINT32_MAX).raw("0123456789"), Code::corrupt,
         "type 4294967295"},
        {"truth of 2", GgufBytes().header(0, 1).key("k", 7).raw("\2"), Code::corrupt, "truth value"},
        {"long text", GgufBytes().header(0, 1).key("k", 8).u64(11).raw("0123456789"), Code::corrupt, "length of a text"},
        {"endless text", GgufBytes().header(0, 1).key("k", 8).u64(kHuge), Code::corrupt, "length of a text"},
        {"endless array of bytes", GgufBytes().header(0, 1).key("k", 9).u32(0).u64(kHuge), Code::corrupt,
         "length of an array"},
        {"array whose bytes overflow", GgufBytes().header(0, 1).key("k", 9).u32(11).u64(uint64_t{1} << 61).raw("12345678"),
         Code::corrupt, "length of an array"},
        {"endless array of texts", GgufBytes().header(0, 1).key("k", 9).u32(8).u64(kHuge / 8), Code::corrupt,
         "length of an array"},
        {"array with a long text", GgufBytes().header(0, 1).key("k", 9).u32(8).u64(1).u64(9).raw("12345678"), Code::corrupt,
         "length of a text"},
        {"array of truths with a 7", GgufBytes().header(0, 1).key("k", 9).u32(7).u64(2).raw("\1\7"), Code::corrupt,
         "truth value"},
        {"array of arrays", GgufBytes().header(0, 1).key("k", 9).u32(9).u64(1).u32(9).u64(1), Code::unsupported,
         "array of arrays"},
        {"array of type 13", GgufBytes().header(0, 1).key("k", 9).u32(13).u64(1).u64(0), Code::corrupt, "type 13"},
        {"array of huge u64", GgufBytes().header(0, 1).key("k", 9).u32(10).u64(1).u64(kHuge), Code::unsupported, "2^63"},
        {"alignment 0", GgufBytes().header(0, 1).key("general.alignment", 4).u32(0), Code::corrupt, "power of two"},
        {"alignment 48", GgufBytes().header(0, 1).key("general.alignment", 4).u32(48), Code::corrupt, "power of two"},
        {"alignment -32", GgufBytes().header(0, 1).key("general.alignment", 5).number(-32), Code::corrupt, "power of two"},
        {"alignment 2^63", GgufBytes().header(0, 1).key("general.alignment", 10).u64(uint64_t{1} << 63), Code::corrupt,
         "power of two"},
        {"alignment 2^62", GgufBytes().header(0, 1).key("general.alignment", 10).u64(uint64_t{1} << 62), Code::corrupt,
         "power of two"},
        {"alignment of text", GgufBytes().header(0, 1).key("general.alignment", 8).text("32"), Code::corrupt,
         "power of two"},
    };
}

std::vector<Lie> lies_about_tensors() {
    const auto one = [](std::initializer_list<uint64_t> shape, uint32_t type, uint64_t offset, size_t data) {
        return std::string(GgufBytes().header(1, 0).tensor("t", shape, type, offset).pad().data(data));
    };
    const uint64_t two32 = uint64_t{1} << 32;
    return {
        {"long name", GgufBytes().header(1, 0).u64(kHuge - 7).raw(std::string(64, 'x')), Code::corrupt, "tensor's name"},
        {"empty name", GgufBytes().header(1, 0).tensor("", {1}, 0, 0).pad().data(4), Code::corrupt, "name of 0 bytes"},
        {"rank 9", one({1, 1, 1, 1, 1, 1, 1, 1, 1}, 0, 0, 4), Code::corrupt, "rank 9"},
        {"endless rank", GgufBytes().header(1, 0).text("t").u32(UINT32_MAX).raw(std::string(64, '\1')), Code::corrupt,
         "rank 4294967295"},
        {"negative extent", one({kHuge}, 0, 0, 4), Code::corrupt, "extent of 18446744073709551615"},
        {"elements overflow", one({two32, two32}, 0, 0, 4), Code::corrupt, "2^62 elements"},
        {"elements overflow behind a zero", one({two32, two32, 0}, 0, 0, 4), Code::corrupt, "2^62 elements"},
        {"bytes overflow", one({uint64_t{1} << 62}, 0, 0, 4), Code::corrupt, "2^64 bytes"},
        {"half a block", one({48}, 8, 0, 64), Code::corrupt, "no multiple of the 32"},
        {"scalar of blocks", one({}, 8, 0, 64), Code::corrupt, "no multiple of the 32"},
        {"withdrawn type", one({32}, 4, 0, 64), Code::unsupported, "type 4"},
        {"unknown type", one({32}, 999, 0, 64), Code::unsupported, "type 999"},
        {"odd offset", one({1}, 0, 8, 64), Code::corrupt, "no multiple of 32"},
        {"offset past the end", one({1}, 0, 64, 64), Code::corrupt, "past the end"},
        {"offset that wraps", one({8}, 0, kHuge - 31, 64), Code::corrupt, "past the end"},
        {"data cut off", one({8}, 0, 32, 63), Code::corrupt, "cut off"},
        {"no data at all", GgufBytes().header(1, 0).tensor("t", {1}, 0, 0), Code::corrupt, "past the end"},
        {"name twice", GgufBytes().header(2, 0).tensor("t", {1}, 0, 0).tensor("t", {1}, 0, 32).pad().data(64), Code::corrupt,
         "'t' comes twice"},
        {"same place", GgufBytes().header(2, 0).tensor("a", {1}, 0, 0).tensor("b", {1}, 0, 0).pad().data(64), Code::corrupt,
         "'a' and 'b' overlap"},
        {"reaching into the next", GgufBytes().header(2, 0).tensor("b", {1}, 0, 32).tensor("a", {9}, 0, 0).pad().data(64),
         Code::corrupt, "'a' and 'b' overlap"},
    };
}

TEST(GgufReader, FilesThatLieAreRefusedAndTheMessageSaysWhere) {
    for (const auto& lies : {lies_in_the_header(), lies_in_the_metadata(), lies_about_tensors()})
        for (const Lie& lie : lies) {
            SCOPED_TRACE(lie.name);
            expect_error([&] { read(lie.file); }, lie.code, lie.about);
            expect_error([&] { read(lie.file); }, lie.code, "test.gguf");
        }
}

TEST(GgufReader, AFileCutOffAtAnyByteIsCorrupt) {
    const std::string whole = good_file();
    read(whole);
    for (size_t length = 0; length < whole.size(); ++length) {
        SCOPED_TRACE(length);
        // A copy of just that size: reading past it is caught by a sanitizer.
        const std::vector<char> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
        error_of([&] { GgufFile::from_memory(std::as_bytes(std::span(cut))); }, Code::corrupt);
    }
}

TEST(GgufReader, AnyByteMayBeAnythingAndOnlyErrorsComeOfIt) {
    const std::string whole = good_file();
    size_t refused = 0;
    for (size_t at = 0; at < whole.size(); ++at)
        for (const int flip : {0x01, 0x80, 0xFF}) {
            std::string changed = whole;
            changed[at] = static_cast<char>(changed[at] ^ flip);
            try {
                const GgufFile file = read(changed);
                for (const GgufTensor& tensor : file.tensors()) EXPECT_EQ(file.data(tensor.name).size(), tensor.bytes);
            } catch (const Error&) {
                ++refused;
            }
        }
    EXPECT_GT(refused, whole.size());
}

TEST(GgufReader, EveryTypeOfMetadataIsRead) {
    const std::string text = good_file();
    const GgufFile file = read(text);
    EXPECT_EQ(file.metadata().size(), 15U);
    EXPECT_EQ(file.integer("u8"), 200);
    EXPECT_EQ(file.integer("i8"), -3);
    EXPECT_EQ(file.integer("u16"), 60000);
    EXPECT_EQ(file.integer("i16"), -4);
    EXPECT_EQ(file.integer("u32"), 4000000000);
    EXPECT_EQ(file.integer("i32"), -5);
    EXPECT_EQ(*file.find("f32"), GgufValue(1.5));
    EXPECT_EQ(*file.find("bool"), GgufValue(true));
    EXPECT_EQ(file.text("string"), "text");
    EXPECT_EQ(*file.find("u64"), GgufValue(kHuge));
    EXPECT_EQ(file.integer("i64"), INT64_MIN);
    EXPECT_EQ(*file.find("f64"), GgufValue(0.1));
    EXPECT_EQ(*file.find("array.u8"), GgufValue(std::vector<int64_t>{1, 2, 3}));
    EXPECT_EQ(file.texts("array.string"), (std::vector<std::string>{"a", ""}));
    EXPECT_EQ(*file.find("array.bool"), GgufValue(std::vector<int64_t>{1, 0}));
    EXPECT_EQ(file.find("none"), nullptr);
}

TEST(GgufReader, TensorsAreOutermostFirstAndLieInsideTheFile) {
    const std::string text = good_file();
    const GgufFile file = read(text);
    const GgufTensor* matrix = file.find_tensor("matrix");
    ASSERT_NE(matrix, nullptr);
    EXPECT_EQ(matrix->shape, (Shape{3, 2}));
    EXPECT_EQ(matrix->dtype, DType::f32);
    EXPECT_EQ(matrix->bytes, 24U);
    EXPECT_EQ(file.data("matrix").data(), as_bytes(text).data() + matrix->offset);
    EXPECT_EQ(file.data("matrix")[5], std::byte{5});
    EXPECT_EQ(file.find_tensor("block")->dtype, DType::q4_0);
    EXPECT_EQ(file.data("block").size(), 18U);
    expect_error([&] { static_cast<void>(file.data("none")); }, Code::not_found, "'none'");
}

TEST(GgufReader, AMissingKeyOrOneOfAnotherTypeIsNamed) {
    const std::string text = good_file();
    const GgufFile file = read(text);
    expect_error([&] { static_cast<void>(file.integer("none")); }, Code::corrupt, "'none' is missing");
    expect_error([&] { static_cast<void>(file.integer("string")); }, Code::corrupt, "'string' is not a whole number");
    expect_error([&] { static_cast<void>(file.integer("u64")); }, Code::corrupt, "'u64' is not a whole number");
    expect_error([&] { static_cast<void>(file.text("u8")); }, Code::corrupt, "'u8' is not a text");
    expect_error([&] { static_cast<void>(file.texts("array.u8")); }, Code::corrupt, "'array.u8' is not an array of texts");
}

TEST(GgufReader, OtherAlignmentsAndTypesWithoutUseAreRead) {
    GgufBytes b;
    b.header(3, 1).key("general.alignment", 4).u32(8);
    b.tensor("k", {256}, 16, 0).tensor("tail", {4}, 24, 72).tensor("q", {256}, 14, 80);
    const std::string text = b.pad(8).data(290);
    const GgufFile file = read(text);
    EXPECT_EQ(file.find_tensor("k")->dtype, DType::unknown);
    EXPECT_EQ(file.find_tensor("k")->type, 16U);
    EXPECT_EQ(file.data("k").size(), 66U);
    EXPECT_EQ(file.data("tail")[0], std::byte{72});
    EXPECT_EQ(file.find_tensor("q")->dtype, DType::q6_k);
    EXPECT_EQ(file.data("q").size(), 210U);
}

TEST(GgufReader, FilesWithoutTensorsOrWithEmptyOnesAreRead) {
    EXPECT_TRUE(read(GgufBytes().header(0, 0)).tensors().empty());
    const std::string text = GgufBytes().header(2, 0).tensor("none", {0, 5}, 0, 0).tensor("also none", {0}, 0, 0);
    const GgufFile file = read(text);
    EXPECT_EQ(file.data("none").size(), 0U);
    EXPECT_EQ(file.find_tensor("none")->shape, (Shape{5, 0}));
}

TEST(GgufReader, FilesThatTheSystemRefusesAreNamed) {
    const TemporaryFolder folder;
    expect_error([&] { GgufFile::open(folder / "none.gguf"); }, Code::not_found, "none.gguf");
    expect_error([&] { GgufFile::open(folder.path()); }, Code::invalid, "no regular file");
    write_file(folder / "empty.gguf", "");
    expect_error([&] { GgufFile::open(folder / "empty.gguf"); }, Code::corrupt, "empty.gguf");
}

TEST(GgufReader, DataOutlivesTheFirstHandleWhileACopyLives) {
    const TemporaryFolder folder;
    write_file(folder / "a.gguf", good_file());
    auto first = std::make_unique<GgufFile>(GgufFile::open(folder / "a.gguf"));
    const GgufFile copy = *first;
    const std::span<const std::byte> data = first->data("matrix");
    first.reset();
    EXPECT_EQ(data[23], std::byte{23});
    EXPECT_EQ(copy.name(), (folder / "a.gguf").string());
}

}  // namespace
}  // namespace backplane
