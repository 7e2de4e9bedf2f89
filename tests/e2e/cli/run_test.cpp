#include <algorithm>
#include <cstring>
#include <tuple>

#include "base/json.hpp"
#include "formats/npy.hpp"
#include "onnx_bytes.hpp"
#include "program.hpp"

namespace backplane::e2e {
namespace {

std::string dense(const Place& p) {
    std::ofstream(p.at("dense.onnx"), std::ios::binary) << onnx_bytes::dense_network();
    return p.at("dense.onnx");
}

TEST(CliRun, ArraysGoInAndOut) {
    const Place p;
    const std::vector<float> x{1, 2, 3, 4, -1, 0, 0, 0};
    formats::write_npy(p.at("x.npy"), DType::f32, {2, 4}, std::as_bytes(std::span(x)));
    for (const std::string name : {"x=", ""}) {
        const Outcome o = run(p, {"run", dense(p), "--input", name + p.at("x.npy"), "--output", "y=" + p.at("y.npy"),
                                  "--device", "cpu", "--repeat", "3", "--json"});
        ASSERT_EQ(o.exit_code, 0) << o.err;
        const auto json = base::Json::parse(o.out);
        EXPECT_EQ(json["outputs"][0]["name"], "y");
        EXPECT_EQ(json["outputs"][0]["most"], 11.5);
        EXPECT_EQ(json["runs"], 3);
        EXPECT_EQ(json["device"], "cpu:0");
        const formats::NpyFile y = formats::NpyFile::open(p.at("y.npy"));
        EXPECT_EQ(y.array().shape, (Shape{2, 3}));
        const std::vector<float> want{11.5F, 2, 5, 0, 0, 1};
        ASSERT_EQ(y.array().bytes.size(), want.size() * sizeof(float));
        EXPECT_EQ(std::memcmp(y.array().bytes.data(), want.data(), y.array().bytes.size()), 0);
        fs::remove(p.at("y.npy"));
    }
    // What is read is not written over unasked.
    const std::string before = content(p.at("x.npy"));
    const std::vector<std::string> onto{"run",      dense(p),      "--input",  p.at("x.npy"),
                                        "--output", p.at("x.npy"), "--device", "cpu"};
    EXPECT_EQ(run(p, onto).exit_code, 2);
    EXPECT_EQ(content(p.at("x.npy")), before);
    std::vector<std::string> forced = onto;
    forced.emplace_back("--force");
    EXPECT_EQ(run(p, forced).exit_code, 0);
    EXPECT_NE(content(p.at("x.npy")), before);
    const Outcome table = run(p, {"run", dense(p), "--input", "1,2,3,4", "--device", "cpu"});
    EXPECT_EQ(table.exit_code, 0) << table.err;
    EXPECT_NE(table.out.find("[1, 3]"), std::string::npos) << "a list fills the one axis that is open: " << table.out;
    EXPECT_NE(run(p, {"run", dense(p), "--input", "zeros:5x4", "--device", "cpu"}).out.find("[5, 3]"), std::string::npos);
}

TEST(CliRun, PicturesHaveTheLayoutOfTheModel) {
    const Place p;
    using namespace onnx_bytes;  // NOLINT: it is what the network is made of
    const std::string picture = p.picture("in.png", 5, 4);
    const std::vector<uint8_t> pixels = Place::pixels(5, 4, 3);
    struct Layout {
        std::vector<std::string> extents;
        Shape shape;
        size_t second;  // where the green of the first pixel goes
    };
    for (const Layout& layout :
         {Layout{{"1", "3", "", ""}, {1, 3, 4, 5}, 20}, Layout{{"1", "", "", "3"}, {1, 4, 5, 3}, 1}}) {
        std::ofstream(p.at("m.onnx"), std::ios::binary) << onnx_bytes::model(
            input(value("image", kF32, layout.extents)) + output(value("y", kF32, {})) + node("Identity", {"image"}, {"y"}));
        const Outcome o = run(p, {"run", p.at("m.onnx"), "--input", picture, "--output", p.at("y.npy"), "--device", "cpu",
                                  "--mean", "0,0.5,0", "--std", "1,2,1"});
        ASSERT_EQ(o.exit_code, 0) << o.err;
        const formats::NpyFile y = formats::NpyFile::open(p.at("y.npy"));
        ASSERT_EQ(y.array().shape, layout.shape);
        float green = 0;
        std::memcpy(&green, y.array().bytes.data() + layout.second * sizeof green, sizeof green);
        EXPECT_FLOAT_EQ(green, static_cast<float>((pixels[1] / 255.0 - 0.5) / 2));
    }
}

TEST(CliRun, WholeNumbersOfSoundsAndPicturesAreThoseOfTheirFiles) {
    using namespace onnx_bytes;  // NOLINT: it is what the networks are made of
    const Place p;
    const auto identity = [&](const char* file, uint64_t type, const std::vector<std::string>& extents) {
        std::ofstream(p.at(file), std::ios::binary)
            << model(input(value("x", type, extents)) + output(value("y", type, {})) + node("Identity", {"x"}, {"y"}));
        return p.at(file);
    };
    const std::string sound = p.at("s.wav"), picture = p.picture("p.png", 5, 4);
    {
        const std::vector<int16_t> samples{0, 1000, -1000, 32767, -32768};
        const auto word = [](uint32_t v) { return raw<uint32_t>({v}); };
        std::ofstream(sound, std::ios::binary)
            << "RIFF" << word(46) << "WAVEfmt " << word(16) << word(0x10001) << word(16000) << word(32000) << word(0x100002)
            << "data" << word(10) << raw(samples);
    }
    const auto first_of = [&](const std::string& file, size_t bytes) {
        const Outcome o = run(p, {"run", file, "--input", file.find("s16") != std::string::npos ? sound : picture,
                                  "--output", p.at("y.npy"), "--device", "cpu"});
        EXPECT_EQ(o.exit_code, 0) << o.err;
        const formats::NpyFile y = formats::NpyFile::open(p.at("y.npy"));
        return std::vector<std::byte>(y.array().bytes.begin(), y.array().bytes.begin() + static_cast<std::ptrdiff_t>(bytes));
    };
    const std::vector<std::byte> samples = first_of(identity("s16.onnx", 5, {"n"}), 6);
    EXPECT_EQ(std::memcmp(samples.data(), raw<int16_t>({0, 1000, -1000}).data(), 6), 0);
    const std::vector<std::byte> pixels = first_of(identity("p32.onnx", kI32, {"1", "", "", "3"}), 4);
    EXPECT_EQ(std::memcmp(pixels.data(), raw<int32_t>({Place::pixels(5, 4, 3)[0]}).data(), 4), 0);
    const Outcome random = run(
        p, {"run", identity("r64.onnx", kI64, {"n"}), "--input", "random:64", "--output", p.at("y.npy"), "--device", "cpu"});
    EXPECT_EQ(random.exit_code, 0) << random.err;
    const formats::NpyFile drawn = formats::NpyFile::open(p.at("y.npy"));
    std::vector<int64_t> numbers(64);
    ASSERT_EQ(drawn.array().bytes.size(), numbers.size() * sizeof(int64_t));
    std::memcpy(numbers.data(), drawn.array().bytes.data(), drawn.array().bytes.size());
    const auto ones = std::ranges::count(numbers, 1);
    EXPECT_EQ(ones + std::ranges::count(numbers, 0), 64);
    EXPECT_TRUE(ones > 8 && ones < 56) << ones;
    const Outcome refused = run(p, {"run", identity("s64.onnx", kI64, {"n"}), "--input", sound, "--device", "cpu"});
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_NE(refused.err.find("sounds are of floats from -1 to 1, or of i16"), std::string::npos) << refused.err;
    const Outcome filled =
        run(p, {"run", identity("n4.onnx", kF32, {"n", "4"}), "--input", "1,2,3,4,5,6,7,8", "--device", "cpu"});
    EXPECT_EQ(filled.exit_code, 0) << filled.err;
    EXPECT_NE(filled.out.find("[2, 4]"), std::string::npos) << filled.out;
    EXPECT_EQ(run(p, {"run", p.at("n4.onnx"), "--input", "1,2,3", "--device", "cpu"}).exit_code, 2);
}

TEST(CliRun, NumbersWithoutASignComeAndGoWithEveryBit) {
    using namespace onnx_bytes;  // NOLINT
    const Place p;
    std::ofstream(p.at("m.onnx"), std::ios::binary)
        << onnx_bytes::model(input(value("x", kU64, {"2"})) + output(value("y", kU64, {"2"})) + node("Max", {"x"}, {"y"}));
    const std::vector<uint64_t> x{0xFFFFFFFFFFFFFF01, 7};
    const auto bytes = std::as_bytes(std::span(x));
    formats::write_npy(p.at("x.npy"), DType::i64, {2}, bytes, true);
    const Outcome o =
        run(p, {"run", p.at("m.onnx"), "--input", p.at("x.npy"), "--output", p.at("y.npy"), "--device", "cpu"});
    ASSERT_EQ(o.exit_code, 0) << o.err;
    EXPECT_NE(o.out.find("u64"), std::string::npos) << o.out;
    const formats::NpyFile y = formats::NpyFile::open(p.at("y.npy"));
    EXPECT_TRUE(y.array().is_unsigned);
    EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), y.array().bytes.begin(), y.array().bytes.end()));
    formats::write_npy(p.at("signed.npy"), DType::i64, {2}, bytes);
    const Outcome other = run(p, {"run", p.at("m.onnx"), "--input", p.at("signed.npy"), "--device", "cpu"});
    EXPECT_EQ(other.exit_code, 1);
    EXPECT_NE(other.err.find("it is of u64, i64 is given"), std::string::npos) << other.err;
    const Outcome inexact = run(p, {"run", p.at("m.onnx"), "--input", "9007199254740993,1", "--device", "cpu"});
    EXPECT_EQ(inexact.exit_code, 2);
    EXPECT_NE(inexact.err.find("whole numbers from 2^53 on"), std::string::npos) << inexact.err;
}

TEST(CliRun, ArraysOfOtherMachinesAndOrdersAreThoseNumbers) {
    using namespace onnx_bytes;  // NOLINT
    const Place p;
    const auto identity = [&](uint64_t type) {
        std::ofstream(p.at("m.onnx"), std::ios::binary) << onnx_bytes::model(
            input(value("a", type, {"2", "2"})) + output(value("b=c", type, {"2", "2"})) + node("Identity", {"a"}, {"b=c"}));
        return p.at("m.onnx");
    };
    const auto passes = [&](const std::string& model) {
        const Outcome o =
            run(p, {"run", model, "--input", "a=" + p.at("x.npy"), "--output", "b=c=" + p.at("y.npy"), "--device", "cpu"});
        EXPECT_EQ(o.exit_code, 0) << o.err;
        const formats::NpyFile y = formats::NpyFile::open(p.at("y.npy"));
        const std::vector<float> want{1, 2, 3, 4};
        ASSERT_EQ(y.array().bytes.size(), want.size() * sizeof(float));
        EXPECT_EQ(std::memcmp(y.array().bytes.data(), want.data(), y.array().bytes.size()), 0);
    };
    const std::string text = "{'descr': '>f4', 'fortran_order': True, 'shape': (2, 2), }\n";
    std::ofstream(p.at("x.npy"), std::ios::binary) << "\x93NUMPY\1" << '\0' << static_cast<char>(text.size()) << '\0' << text
                                                   << raw<uint32_t>({0x803f, 0x4040, 0x40, 0x8040});
    passes(identity(kF32));
    passes(identity(16));  // bf16, which NumPy has not
}

TEST(CliRun, WrongUseIsSaidInOneLine) {
    const Place p;
    const std::string model = dense(p);
    const auto fails = [&](const std::vector<std::string>& arguments, int code, const std::string& says) {
        const Outcome o = run(p, arguments);
        EXPECT_EQ(o.exit_code, code) << o.err;
        EXPECT_TRUE(is_one_line(o.err)) << o.err;
        EXPECT_NE(o.err.find(says), std::string::npos) << o.err;
    };
    fails({"run", p.at("none.onnx")}, 1, "none.onnx");
    fails({"run", "/etc/passwd"}, 1, "cannot read '/etc/passwd'");
    fails({"run", model}, 1, "input 'x': it is not given; it takes f32 [");
    fails({"run", model, "--input", "z=1"}, 2, "no input 'z'; there are 'x'");
    fails({"run", model, "--input", "x=what"}, 2, "it takes a file");
    fails({"run", model, "--input", "x=2x4"}, 2, "say what is in it");
    fails({"run", model, "--input", "x=" + p.at("none.npy")}, 1, "none.npy");
    fails({"run", model, "--input", "x=zeros:2x5", "--device", "cpu"}, 1, "its shape is [batch, 4], [2, 5] is given");
    fails({"run", model, "--input", "x=zeros:1x4", "--output", "y.txt"}, 2, "ends in .npy");
    fails({"run", model, "--input", "x=zeros:1x4", "--output", "z=y.npy"}, 2, "no output 'z'");
    fails({"run", model, "--input", "x=" + p.picture(), "--mean", "1,2"}, 2, "three numbers");
    fails({"run", model, "--input", "x=" + p.picture(), "--std", "1,0,1"}, 2, "divided by 0");
    fails({"run", model, "--input", "x=1,2,3,1e39", "--device", "cpu"}, 2, "is no number of f32");
    fails({"run", model, "--input", "x=1,1e400,3,4"}, 2, "--input x: 1e400 is out of the range of numbers");
    fails({"run", model, "--input", "x=1e-400"}, 2, "--input x: 1e-400 is out of the range of numbers");
    fails({"run", model, "--input", "x=1e400.5"}, 2, "it takes a file");
}

TEST(CliRun, NumbersThatAnInputDoesNotHoldAndOutputsOfOneFileAreWrongUse) {
    using namespace onnx_bytes;  // NOLINT
    const Place p;
    const auto given = [&](uint64_t type, const std::string& numbers) {
        std::ofstream(p.at("m.onnx"), std::ios::binary) << onnx_bytes::model(
            input(value("x", type, {"n"})) + output(value("y", type, {})) + output(value("z", type, {})) +
            node("Identity", {"x"}, {"y"}) + node("Identity", {"x"}, {"z"}));
        return run(p, {"run", p.at("m.onnx"), "--input", numbers, "--device", "cpu"});
    };
    for (const auto& [type, numbers, says] :
         {std::tuple{kU8, "1,300", "300 is no number of u8"}, std::tuple{kU8, "-1", "-1 is no number of u8"},
          std::tuple{kI32, "2.5", "2.5 is no number of i32"}, std::tuple{kI64, "nan", "nan is no number of i64"},
          std::tuple{kU64, "-1", "-1 is no number of u64"}, std::tuple{kBool, "2", "2 is no number of bool"}}) {
        const Outcome o = given(type, numbers);
        EXPECT_EQ(o.exit_code, 2) << numbers;
        EXPECT_NE(o.err.find(says), std::string::npos) << o.err;
    }
    EXPECT_EQ(given(kU8, "0,255").exit_code, 0);
    EXPECT_EQ(given(kF32, "1e9,-0.1,nan,inf").exit_code, 0);
    fs::create_directory(p.at("f"));
    const Outcome o = run(p, {"run", p.at("m.onnx"), "--input", "1", "--device", "cpu", "--output", "y=" + p.at("a.npy"),
                              "--output", "z=" + p.at("f/../a.npy")});
    EXPECT_EQ(o.exit_code, 2);
    EXPECT_NE(o.err.find("the file of output 'y', too"), std::string::npos) << o.err;
    EXPECT_FALSE(fs::exists(p.at("a.npy")));
}

TEST(CliModelOnnx, InfoSaysWhatItWants) {
    const Place p;
    const Outcome o = run(p, {"model", "info", dense(p), "--json"});
    ASSERT_EQ(o.exit_code, 0) << o.err;
    const auto json = base::Json::parse(o.out);
    EXPECT_EQ(json["opset"], 17);
    EXPECT_EQ(json["inputs"][0]["shape"][0], "batch");
    EXPECT_EQ(json["inputs"][0]["shape"][1], 4);
    EXPECT_EQ(json["ops"]["MatMul"], 1);
    EXPECT_NE(run(p, {"model", "info", p.at("dense.onnx"), "--tensors"}).out.find("batch x 4"), std::string::npos);
}

TEST(CliModelOnnx, CheckNamesNodesThatRunNowhere) {
    const Place p;
    const Outcome good = run(p, {"model", "check", dense(p), "--input", "x=2x4", "--device", "cpu", "--all"});
    EXPECT_EQ(good.exit_code, 0) << good.err;
    EXPECT_NE(good.out.find("cpu:0: 3 nodes"), std::string::npos) << good.out;
    using namespace onnx_bytes;  // NOLINT: it is what the network is made of
    std::ofstream(p.at("m.onnx"), std::ios::binary)
        << onnx_bytes::model(input(value("x", kF32, {"3"})) + output(value("y", kF32, {})) + node("NonZero", {"x"}, {"y"}));
    const Outcome bad = run(p, {"model", "check", p.at("m.onnx"), "--device", "cpu", "--json"});
    EXPECT_EQ(bad.exit_code, 1);
    const auto json = base::Json::parse(bad.out);
    EXPECT_EQ(json["runs"], false);
    EXPECT_EQ(json["nodes"][0]["op"], "NonZero");
    EXPECT_NE(json["nodes"][0]["why"][0].get<std::string>().find("the size of its result"), std::string::npos);
}

}  // namespace
}  // namespace backplane::e2e
