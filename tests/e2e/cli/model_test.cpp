#include <gtest/gtest.h>

#include "base/json.hpp"
#include "onnx_bytes.hpp"
#include "parakeet_folder.hpp"
#include "program.hpp"

namespace backplane::e2e {
namespace {

TEST(CliModel, InfoShowsWhatAFileHolds) {
    const Place p;
    const Outcome o = run(p, {"model", "info", p.model(), "--json"});
    ASSERT_EQ(o.exit_code, 0) << o.err;
    const auto json = base::Json::parse(o.out);
    EXPECT_EQ(json["metadata"]["general.name"], "tiny-x2");
    EXPECT_EQ(json["tensors"].size(), 2U);
    EXPECT_NE(run(p, {"model", "info", p.at("tiny.gguf"), "--tensors"}).out.find("first.weight"), std::string::npos);
}

// Types that graphs do not have are called what ggml calls them.
TEST(CliModel, InfoNamesEveryTypeOfTensors) {
    const Place p;
    std::string bytes = "GGUF";
    const auto put = [&](uint64_t value, int size) {
        for (int i = 0; i < size; ++i) bytes += static_cast<char>(value >> 8 * i);
    };
    put(3, 4), put(1, 8), put(0, 8);
    put(1, 8), bytes += "t", put(1, 4), put(32, 8), put(39, 4), put(0, 8);
    bytes.resize((bytes.size() + 31) / 32 * 32 + 32);
    std::ofstream(p.at("t.gguf"), std::ios::binary) << bytes;
    const Outcome o = run(p, {"model", "info", p.at("t.gguf"), "--tensors"});
    EXPECT_EQ(o.exit_code, 0) << o.err;
    EXPECT_NE(o.out.find("MXFP4"), std::string::npos) << o.out;
    const auto json = base::Json::parse(run(p, {"model", "info", p.at("t.gguf"), "--json"}).out);
    EXPECT_EQ(json["tensors"][0]["dtype"], "MXFP4");
}

TEST(CliModel, AFileThatIsNoModelIsOneLine) {
    const Place p;
    for (const std::string& file : {std::string("/etc/passwd"), p.at("none.gguf"), p.at("")}) {
        const Outcome o = run(p, {"model", "info", file});
        EXPECT_EQ(o.exit_code, 1);
        EXPECT_TRUE(is_one_line(o.err)) << o.err;
    }
}

TEST(CliModel, ImportOfNonsenseLeavesNoFile) {
    const Place p;
    std::ofstream(p.at("model.json")) << "{\"modelTopology\": 7}";
    for (const std::string& from : {p.at("model.json"), p.at("none"), p.at("")}) {
        const Outcome o = run(p, {"model", "import", from, p.at("out.gguf"), "--scale", "2"});
        EXPECT_EQ(o.exit_code, 1);
        EXPECT_TRUE(is_one_line(o.err)) << o.err;
        EXPECT_FALSE(fs::exists(p.at("out.gguf")));
    }
}

TEST(CliModel, AParakeetFolderIsConvertedAndShown) {
    const Place p;
    ParakeetFolder folder(FolderHead::tdt);
    const std::string from = folder.write().string(), to = p.at("out.gguf");
    const Outcome o = run(p, {"model", "convert", from, "-o", to, "--dtype", "q8_0"});
    ASSERT_EQ(o.exit_code, 0) << o.err;
    EXPECT_NE(o.out.find("TDT, 2 layers of 32, "), std::string::npos) << o.out;
    EXPECT_NE(run(p, {"model", "info", to}).out.find("TDT, 2 layers of 32, "), std::string::npos);
    EXPECT_EQ(run(p, {"model", "convert", to, "-o", p.at("again.gguf"), "--dtype", "f16"}).exit_code, 0);
    const Outcome smaller = run(p, {"model", "convert", from, "-o", p.at("small.gguf"), "--dtype", "q4_k"});
    EXPECT_EQ(smaller.exit_code, 0);
    EXPECT_NE(smaller.err.find("are no whole blocks of q4_k (256)"), std::string::npos) << smaller.err;
    EXPECT_EQ(run(p, {"model", "convert", from, "-o", to, "--dtype", "q3"}).exit_code, 2);
    EXPECT_EQ(run(p, {"model", "convert", to, "-o", to}).exit_code, 2);
}

// What is read may be several files, of which none is the path that was given.
TEST(CliModel, NoFileOfAFolderThatIsReadIsWrittenOver) {
    const Place p;
    ParakeetFolder folder(FolderHead::ctc);
    const fs::path from = folder.write();
    fs::create_hard_link(from / "model.safetensors", p.at("linked.bin"));
    for (const fs::path& file : {from / "model.safetensors", from / "config.json", from / "tokenizer.json",
                                 from / "new.safetensors", fs::path(p.at("linked.bin"))}) {
        const bool there = fs::exists(file);
        const std::string before = there ? content(file) : "";
        for (const std::string& given : {from.string(), (from / "model.safetensors").string()})
            for (const std::string command : {"convert", "import", "quantize"}) {
                std::vector<std::string> arguments{"model", command, given};
                if (command == "convert") arguments.emplace_back("-o");
                arguments.push_back(file.string());
                const Outcome o = run(p, arguments);
                EXPECT_EQ(o.exit_code, 2) << command << ' ' << file << ": " << o.out;
                EXPECT_TRUE(is_one_line(o.err)) << o.err;
            }
        EXPECT_EQ(fs::exists(file), there) << file;
        EXPECT_TRUE(!there || content(file) == before) << file;
    }
    EXPECT_EQ(run(p, {"model", "convert", from.string(), "-o", (from / "out.gguf").string()}).exit_code, 0);
}

TEST(CliModel, WeightsAreQuantizedWithTheirErrors) {
    const Place p;
    ParakeetFolder folder(FolderHead::ctc);
    const std::string from = folder.write().string(), to = p.at("out.gguf");
    const Outcome o = run(p, {"model", "quantize", from, to, "--dtype", "q8_0", "--keep", "*conv*", "--json"});
    ASSERT_EQ(o.exit_code, 0) << o.err;
    const auto json = base::Json::parse(o.out);
    EXPECT_LT(json["bytes_after"].get<int64_t>(), json["bytes_before"].get<int64_t>());
    int changed = 0;
    for (size_t i = 0; i < json["tensors"].size(); ++i) {
        const auto& tensor = json["tensors"][i];
        if (tensor["to"] == "q8_0") {
            ++changed;
            EXPECT_GT(tensor["error"].get<double>(), 0) << tensor["name"].text();
            EXPECT_LT(tensor["error"].get<double>(), 0.02) << tensor["name"].text();
        }
    }
    EXPECT_GT(changed, 4);
    EXPECT_NE(run(p, {"model", "quantize", to, p.at("again.gguf"), "--tensors"}).out.find("0 of "), std::string::npos);
    const Outcome misspelt = run(p, {"model", "quantize", from, p.at("none.gguf"), "--keep", "*convv*"});
    EXPECT_EQ(misspelt.exit_code, 1);
    EXPECT_NE(misspelt.err.find("'*convv*', which is to stay as it is, is the name of none"), std::string::npos)
        << misspelt.err;
    for (const std::string& wrong : {p.at("none"), p.at("tiny.json")}) {
        const Outcome refused = run(p, {"model", "quantize", wrong, p.at("no.gguf")});
        EXPECT_EQ(refused.exit_code, 1);
        EXPECT_TRUE(is_one_line(refused.err)) << refused.err;
        EXPECT_FALSE(fs::exists(p.at("no.gguf")));
    }
    EXPECT_EQ(run(p, {"model", "quantize", to, to}).exit_code, 2);
    EXPECT_EQ(run(p, {"model", "quantize", from, to, "--dtype", "q3"}).exit_code, 2);
    // A folder's own weights, which are not the folder.
    const std::string weights = (fs::path(from) / "model.safetensors").string();
    const auto size = fs::file_size(weights);
    EXPECT_EQ(run(p, {"model", "quantize", from, weights}).exit_code, 2);
    EXPECT_EQ(fs::file_size(weights), size);
    // Itself, where that is asked for: read to its end, then replaced.
    EXPECT_EQ(run(p, {"model", "quantize", to, to, "--force"}).exit_code, 0);
    EXPECT_NE(run(p, {"model", "quantize", to, p.at("again.gguf"), "--tensors"}).out.find("0 of "), std::string::npos);
}

TEST(CliModel, AFileWithoutTensorsIsNotQuantized) {
    const Place p;
    using namespace onnx_bytes;  // NOLINT: it is what the network is made of
    std::ofstream(p.at("none.onnx"), std::ios::binary)
        << model(input(value("x", kF32, {"2"})) + output(value("y", kF32, {"2"})) + node("Relu", {"x"}, {"y"}));
    const Outcome nothing = run(p, {"model", "quantize", p.at("none.onnx"), p.at("no.gguf")});
    EXPECT_EQ(nothing.exit_code, 1);
    EXPECT_NE(nothing.err.find("it has no tensors"), std::string::npos) << nothing.err;
    EXPECT_TRUE(is_one_line(nothing.err)) << nothing.err;
    EXPECT_FALSE(fs::exists(p.at("no.gguf")));
}

TEST(CliModel, ConvertingNonsenseIsOneLineAndLeavesNoFile) {
    const Place p;
    for (const std::string& from : {p.model(), p.at("none"), p.at("")}) {
        const Outcome o = run(p, {"model", "convert", from, "-o", p.at("out.gguf")});
        EXPECT_EQ(o.exit_code, 1);
        EXPECT_TRUE(is_one_line(o.err)) << o.err;
        EXPECT_FALSE(fs::exists(p.at("out.gguf")));
    }
}

}  // namespace
}  // namespace backplane::e2e
