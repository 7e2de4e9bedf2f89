// transcribe: what goes wrong first, then what goes right.
#include <gtest/gtest.h>

#include <cstring>

#include "base/json.hpp"
#include "program.hpp"
#include "tiny_network.hpp"

namespace backplane::e2e {
namespace {

// PCM of 16 bits, as a WAV file.
std::string wav(const Place& place, const std::string& name, const std::vector<float>& samples, int rate = 16000) {
    std::string bytes;
    const auto put = [&](uint32_t value, int size) {
        for (int i = 0; i < size; ++i) bytes += static_cast<char>(value >> 8 * i);
    };
    const auto size = static_cast<uint32_t>(samples.size() * 2);
    bytes += "RIFF";
    put(36 + size, 4);
    bytes += "WAVEfmt ";
    put(16, 4);
    put(1, 2);
    put(1, 2);
    put(static_cast<uint32_t>(rate), 4);
    put(static_cast<uint32_t>(rate) * 2, 4);
    put(2, 2);
    put(16, 2);
    bytes += "data";
    put(size, 4);
    for (const float x : samples) put(static_cast<uint16_t>(static_cast<int16_t>(x * 30000)), 2);
    std::ofstream(place.at(name), std::ios::binary) << bytes;
    return place.at(name);
}

std::string network(const Place& place) {
    parakeet::write_random_network(place.at("net.gguf"), parakeet::tiny_transducer({0, 1, 2, 3, 4}),
                                   {.seed = 21, .blank = 1});
    return place.at("net.gguf");
}

Outcome transcribe(const Place& place, std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "transcribe");
    arguments.insert(arguments.end(), {"--model", place.at("net.gguf"), "--device", "cpu"});
    return run(place, arguments);
}

TEST(CliTranscribe, EveryBadInputIsOneLineAndNoOutput) {
    const Place p;
    network(p);
    const std::string good = wav(p, "good.wav", parakeet::random_sound(16000, 1));
    std::ofstream(p.at("empty.wav"));
    std::ofstream(p.at("text.wav")) << "this is no sound";
    wav(p, "silent.wav", {});
    fs::create_directory(p.at("folder"));
    std::ofstream(p.at("cut.wav"), std::ios::binary) << content(good).substr(0, 9000);
    for (const char* name : {"missing.wav", "cut.wav", "empty.wav", "text.wav", "silent.wav", "folder"}) {
        const Outcome o = transcribe(p, {p.at(name), "--output", p.at("out.txt")});
        EXPECT_EQ(o.exit_code, 1) << name;
        EXPECT_TRUE(is_one_line(o.err)) << o.err;
        EXPECT_NE(o.err.find(name), std::string::npos) << o.err;
        EXPECT_FALSE(fs::exists(p.at("out.txt")));
    }
    EXPECT_EQ(run(p, {"transcribe", good, "--model", good}).exit_code, 1);
    EXPECT_EQ(transcribe(p, {good, "--decoder", "rnnt"}).exit_code, 1);
    const std::pair<const char*, const char*> languages[] = {
        {"de", "takes no language"},  {"en-GB", "takes no language"}, {"zh-Hans-CN", "takes no language"},
        {"d", "is no language"},      {"de-", "is no language"},      {"12", "is no language"},
        {"de--at", "is no language"}, {"a b", "is no language"}};
    for (const auto& [language, why] : languages) {
        const Outcome o = transcribe(p, {good, "--language", language});
        EXPECT_EQ(o.exit_code, 1) << language;
        EXPECT_TRUE(is_one_line(o.err)) << o.err;
        EXPECT_NE(o.err.find(why), std::string::npos) << o.err;
    }
    EXPECT_EQ(transcribe(p, {good, "--language", "auto"}).exit_code, 0);
    for (const char* name : {"net.gguf", "text.wav", "none.onnx"}) {
        const Outcome o = transcribe(p, {good, "--vad", p.at(name)});
        EXPECT_EQ(o.exit_code, 1) << name;
        EXPECT_TRUE(is_one_line(o.err)) << o.err;
        EXPECT_NE(o.err.find(name), std::string::npos) << o.err;
    }
    EXPECT_EQ(transcribe(p, {good, "--format", "doc"}).exit_code, 2);
    EXPECT_EQ(transcribe(p, {good, good, "--output", p.at("one.txt")}).exit_code, 2);
    EXPECT_EQ(transcribe(p, {good, "--stream"}).exit_code, 2);
    EXPECT_EQ(transcribe(p, {good, "--output", good}).exit_code, 2) << "an input is not written over";
}

TEST(CliTranscribe, OtherFilesOfABatchAreDoneWhereOneIsBad) {
    const Place p;
    network(p);
    fs::create_directory(p.at("sounds"));
    fs::create_directory(p.at("texts"));
    wav(p, "sounds/a.wav", parakeet::random_sound(40000, 1));
    std::ofstream(p.at("sounds/b.wav")) << "this is no sound";
    wav(p, "sounds/c.WAV", parakeet::random_sound(30000, 2), 8000);
    std::ofstream(p.at("sounds/notes.txt")) << "not looked at";
    const Outcome o = transcribe(p, {p.at("sounds"), "--output", p.at("texts"), "--format", "tsv"});
    EXPECT_EQ(o.exit_code, 1);
    EXPECT_TRUE(is_one_line(o.err)) << o.err;
    EXPECT_NE(o.err.find("b.wav"), std::string::npos) << o.err;
    EXPECT_EQ(std::distance(fs::directory_iterator(p.at("texts")), {}), 2);
    EXPECT_EQ(content(p.at("texts/a.tsv")).rfind("start\tend\tconfidence\tword\n", 0), 0U);
}

TEST(CliTranscribe, AudioComesAtTheRateThatTheNetworkTakes) {
    const Place p;
    parakeet::Config config = parakeet::tiny_transducer({0, 1, 2, 3, 4});
    config.preprocessor.sample_rate = 8000;
    parakeet::write_random_network(p.at("net.gguf"), config, {.seed = 21, .blank = 1});
    const Outcome o = transcribe(p, {wav(p, "a.wav", parakeet::random_sound(40000, 1)), "--json"});
    ASSERT_EQ(o.exit_code, 0) << o.err;
    EXPECT_NEAR(base::Json::parse(o.out)["seconds"].get<double>(), 2.5, 0.01);
}

TEST(CliTranscribe, EveryFormatHasTheSameWords) {
    const Place p;
    network(p);
    const std::string sound = wav(p, "a.wav", parakeet::random_sound(80000, 1));
    const Outcome json = transcribe(p, {sound, "--json"});
    ASSERT_EQ(json.exit_code, 0) << json.err;
    const base::Json report = base::Json::parse(json.out);
    const std::string text = report["text"].get<std::string>();
    ASSERT_FALSE(text.empty());
    EXPECT_EQ(report["device"].get<std::string>(), "cpu:0");
    EXPECT_EQ(report["decoder"].get<std::string>(), "tdt");
    EXPECT_EQ(report["pauses_by"].get<std::string>(), "energy") << "no silero-vad.onnx is beside the network";
    size_t encoders = 0;
    for (const base::Json& ran : report["ran"]) {
        EXPECT_EQ(ran["device"].get<std::string>(), "cpu:0");
        if (ran["part"].get<std::string>() == "encoder") encoders += ran["runs"].get<size_t>();
    }
    EXPECT_EQ(encoders, 1U);
    EXPECT_EQ(transcribe(p, {sound}).out, text + "\n");
    const std::string first = text.substr(0, text.find(' '));
    const std::string srt = transcribe(p, {sound, "--format", "srt"}).out;
    EXPECT_EQ(srt.rfind("1\n00:00:0", 0), 0U) << srt;
    EXPECT_NE(srt.find(" --> "), std::string::npos) << srt;
    EXPECT_NE(srt.find("\n" + first), std::string::npos) << srt;
    EXPECT_EQ(transcribe(p, {sound, "--format", "vtt"}).out.rfind("WEBVTT\n\n00:00:0", 0), 0U);
    EXPECT_EQ(transcribe(p, {sound, "--timestamps"}).out.rfind("[00:00:0", 0), 0U);
    const Outcome file = transcribe(p, {sound, "--format", "json", "--output", p.at("a.json")});
    EXPECT_EQ(file.exit_code, 0) << file.err;
    EXPECT_EQ(base::Json::parse(content(p.at("a.json")))["text"].get<std::string>(), text);
}

}  // namespace
}  // namespace backplane::e2e
