// safetensors files that lie.
#include "formats/safetensors.hpp"
#include "support.hpp"

namespace backplane {
namespace {

std::string file_of(const std::string& header, const std::string& data) {
    const uint64_t length = header.size();
    return std::string(reinterpret_cast<const char*>(&length), sizeof length) + header + data;
}

void expect_refused(const std::string& file, const std::string& about, Code code = Code::corrupt) {
    expect_error([&] { formats::parse_safetensors(as_bytes(file), "a.safetensors"); }, code, about);
}

constexpr const char* kTwo =
    R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"I8","shape":[3],"data_offsets":[8,11]}})";

TEST(Safetensors, TensorsLieWhereTheHeaderSays) {
    const std::string file = file_of(kTwo, "12345678abc");
    const auto tensors = formats::parse_safetensors(as_bytes(file), "a");
    ASSERT_EQ(tensors.size(), 2U);
    EXPECT_EQ(tensors[0].name, "a");
    EXPECT_EQ(tensors[0].dtype, DType::f32);
    EXPECT_EQ(tensors[1].shape, Shape{3});
    EXPECT_EQ(static_cast<char>(tensors[1].bytes[2]), 'c');
    EXPECT_TRUE(formats::parse_safetensors(as_bytes(file_of("{}", "")), "a").empty());
    const std::string other =
        file_of(R"({"__metadata__":{"x":"y"},"a":{"dtype":"F8_E5M2","shape":[2],"data_offsets":[0,2]}})", "ab");
    EXPECT_EQ(formats::parse_safetensors(as_bytes(other), "a")[0].dtype, DType::unknown);
}

TEST(Safetensors, EveryCutIsNoticed) {
    const std::string file = file_of(kTwo, "12345678abc");
    for (size_t size = 0; size < file.size(); ++size) expect_refused(file.substr(0, size), "a.safetensors");
    expect_refused(file + "x", "its tensors have 11 bytes, its data 12");
}

TEST(Safetensors, PlacesThatLieAreNamed) {
    const auto header = [](const std::string& dtype, const std::string& shape, const std::string& offsets) {
        return R"({"a":{"dtype":)" + dtype + R"(,"shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}";
    };
    const std::string data = "12345678";
    expect_refused(file_of(header("\"F32\"", "[2]", "[0,16]"), data), "it may be cut off");
    expect_refused(file_of(header("\"F32\"", "[2]", "[8,0]"), data), "from 8 to 0");
    expect_refused(file_of(header("\"F32\"", "[2]", "[0,-8]"), data), "no whole number");
    expect_refused(file_of(header("\"F32\"", "[2]", "[0,99999999999999999999]"), data), "no whole number");
    expect_refused(file_of(header("\"F32\"", "[2]", "[0]"), data), "not [begin, end]");
    expect_refused(file_of(header("\"F32\"", "[3]", "[0,8]"), data), "F32 [3] has 12 bytes, its place 8");
    expect_refused(file_of(header("\"F32\"", "[4611686018427387904,4]", "[0,8]"), data), "'a'");
    expect_refused(file_of(header("\"F32\"", "[1,1,1,1,1,1,1,1,2]", "[0,8]"), data), "rank is 9", Code::unsupported);
    expect_refused(file_of(header("\"F32\"", "[1]", "[4,8]"), data),
                   "begins at byte 4 of the data, the one before it ends at 0");
    expect_refused(file_of(header("7", "[2]", "[0,8]"), data), "'dtype': it is no text");
    expect_refused(
        file_of(
            R"({"a":{"dtype":"I8","shape":[5],"data_offsets":[0,5]},"b":{"dtype":"I8","shape":[5],"data_offsets":[3,8]}})",
            data),
        "tensor 'b' begins at byte 3 of the data, the one before it ends at 5");
    expect_refused(file_of(R"({"a":7})", data), "tensor 'a': it is no object");
    expect_refused(file_of("[]", data), "no JSON object");
    expect_refused(file_of("{", data), "a.safetensors");
}

}  // namespace
}  // namespace backplane
