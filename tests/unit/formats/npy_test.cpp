// NumPy's files: what lies first.
#include "formats/npy.hpp"

#include <cstring>
#include <fstream>

#include "support.hpp"

namespace backplane {
namespace {

std::string npy(const std::string& header, const std::string& data, char major = 1) {
    std::string text = "\x93NUMPY";
    text += {major, '\0', static_cast<char>(header.size() & 255), static_cast<char>(header.size() >> 8)};
    if (major > 1) text += std::string(2, '\0');
    return text + header + data;
}
std::string header(const std::string& descr, const std::string& shape, const std::string& order = "False") {
    return "{'descr': " + descr + ", 'fortran_order': " + order + ", 'shape': " + shape + ", }\n";
}
void expect_no_array(const std::string& bytes, Code code, const std::string& says) {
    expect_error([&] { formats::parse_npy(as_bytes(bytes), "a.npy"); }, code, says);
}

TEST(Npy, WhatLiesIsCorrupt) {
    const std::string good = header("'<f4'", "(2,)");
    expect_no_array("", Code::corrupt, "a.npy");
    expect_no_array("NUMPY and so on", Code::corrupt, "no .npy file");
    expect_no_array("\x93NUMPY", Code::corrupt, "the file ends");
    expect_no_array(npy(good, "").substr(0, 20), Code::corrupt, "a header of");
    expect_no_array(npy(good, "1234567"), Code::corrupt, "has 8 bytes, and 7 are there");
    expect_no_array(npy(header("'<f4'", "(99999999999,)"), "1234"), Code::corrupt, "are there");
    expect_no_array(npy(header("'<f4'", "(9999999999999999999,)"), "1234"), Code::corrupt, "18 digits");
    expect_no_array(npy(header("'<f4'", "(-1,)"), ""), Code::corrupt, "no number");
    expect_no_array(npy("{'descr': '<f4'", ""), Code::corrupt, "the header has no");
    expect_no_array(npy("{'descr': '<f4", ""), Code::corrupt, "without an end");
    expect_no_array(npy("{'descr': '<f4', 'fortran_order': False}", ""), Code::corrupt, "without a type or a shape");
    expect_no_array(npy("{'other': 7}", ""), Code::corrupt, "with the key 'other'");
    expect_no_array(npy(header("'<f4'", "(2,)", "Maybe"), "12345678"), Code::corrupt, "neither True nor False");
}

TEST(Npy, WhatGraphsDoNotHaveIsUnsupported) {
    expect_no_array(npy(header("'>U1'", "(1,)"), "1234"), Code::unsupported, "'>U1'");
    expect_no_array(npy(header("'>c8'", "(1,)"), "12345678"), Code::unsupported, "'>c8'");
    expect_no_array(npy(header("'>'", "(1,)"), "1234"), Code::unsupported, "'>'");
    expect_no_array(npy(header("''", "(1,)"), "1234"), Code::unsupported, "''");
    expect_no_array(npy(header("'<c8'", "(1,)"), "12345678"), Code::unsupported, "'<c8'");
    expect_no_array(npy(header("[('a', '<f4')]", "(1,)"), "1234"), Code::unsupported, "structures");
    expect_no_array(npy(header("'<f4'", "(1,1,1,1,1,1,1,1,1)"), "1234"), Code::unsupported, "axes");
    expect_no_array(npy(header("'<f4'", "(1,)"), "1234", 9), Code::unsupported, "version 9");
}

std::string bytes_read(const std::string& file) {
    const TemporaryFolder folder;
    std::ofstream(folder / "a.npy", std::ios::binary) << file;
    const formats::NpyFile read = formats::NpyFile::open(folder / "a.npy");
    EXPECT_FALSE(read.array().columns_first || read.array().big_endian);
    const auto bytes = read.array().bytes;
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// As NumPy saves what was transposed, and what came from another machine.
TEST(Npy, ColumnsBeforeRowsAndBigEndianAreArranged) {
    EXPECT_EQ(bytes_read(npy(header("'|u1'", "(2, 3)", "True"), "adbecf")), "abcdef");
    EXPECT_EQ(bytes_read(npy(header("'|u1'", "(3, 1, 2)", "True"), "acebdf")), "abcdef");
    EXPECT_EQ(bytes_read(npy(header("'|u1'", "(2, 2, 2)", "True"), "aecgbfdh")), "abcdefgh");
    EXPECT_EQ(bytes_read(npy(header("'<u2'", "(2, 2)", "True"), "aAcCbBdD")), "aAbBcCdD");
    EXPECT_EQ(bytes_read(npy(header("'>u2'", "(2, 2)"), "AaBbCcDd")), "aAbBcCdD");
    EXPECT_EQ(bytes_read(npy(header("'>u2'", "(2, 2)", "True"), "AaCcBbDd")), "aAbBcCdD");
    EXPECT_EQ(bytes_read(npy(header("'>f8'", "()", "True"), "87654321")), "12345678");
    EXPECT_EQ(bytes_read(npy(header("'<f4'", "(2,)", "True"), "12345678")), "12345678") << "one axis is the same either way";
    EXPECT_EQ(bytes_read(npy(header("'>i4'", "(0, 7)", "True"), "")), "");
}

TEST(Npy, ScalarsNothingAndVersion2AreRead) {
    EXPECT_EQ(formats::parse_npy(as_bytes(npy(header("'<i8'", "()"), "12345678")), "a").shape, Shape{});
    EXPECT_EQ(formats::parse_npy(as_bytes(npy(header("'|b1'", "(0, 3)"), "")), "a").bytes.size(), 0U);
    EXPECT_EQ(formats::parse_npy(as_bytes(npy(header("'|u1'", "(3,)"), "abc", 2)), "a").dtype, DType::u8);
}

TEST(Npy, WhatIsWrittenIsRead) {
    const TemporaryFolder folder;
    const std::vector<float> values{1, 2, 3, 4, 5, 6};
    for (const Shape& shape : {Shape{}, Shape{6}, Shape{2, 3}, Shape{1, 2, 1, 3}, Shape{0, 4}}) {
        const auto bytes = std::as_bytes(std::span(values)).first(static_cast<size_t>(elements(shape)) * sizeof(float));
        formats::write_npy(folder / "a.npy", DType::f32, shape, bytes);
        const formats::NpyFile file = formats::NpyFile::open(folder / "a.npy");
        EXPECT_EQ(file.array().dtype, DType::f32);
        EXPECT_EQ(file.array().shape, shape);
        EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), file.array().bytes.begin(), file.array().bytes.end()));
        EXPECT_EQ((read_file(folder / "a.npy").size() - bytes.size()) % 64, 0U) << "data begins where NumPy has it";
    }
    EXPECT_EQ(read_file(folder / "a.npy").substr(10, 59), "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 4), }");
    const std::vector<uint16_t> halves{0x3f80, 0x4000};  // bf16: 1, 2
    formats::write_npy(folder / "b.npy", DType::bf16, {2}, std::as_bytes(std::span(halves)));
    const formats::NpyFile file = formats::NpyFile::open(folder / "b.npy");
    float read[2] = {};
    ASSERT_EQ(file.array().bytes.size(), sizeof read);
    std::memcpy(read, file.array().bytes.data(), sizeof read);
    EXPECT_EQ(read[0] + read[1], 3);
    expect_error([&] { formats::write_npy(folder / "c.npy", DType::q8_0, {32}, std::vector<std::byte>(34)); },
                 Code::unsupported, "NumPy");
    expect_error([&] { formats::write_npy(folder / "c.npy", DType::f32, {3}, {}); }, Code::invalid, "has 12 bytes");
    EXPECT_EQ(folder.names(), (std::vector<std::string>{"a.npy", "b.npy"}));
}

}  // namespace
}  // namespace backplane
