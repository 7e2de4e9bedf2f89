// Without libsndfile: sound files are refused in one line that says what to do, and whatever needs none is as it was.
#include <gtest/gtest.h>

#include "backplane/audio.hpp"
#include "backplane/transcriber.hpp"
#include "base/json.hpp"
#include "program.hpp"
#include "tiny_network.hpp"

namespace backplane::e2e {
namespace {

constexpr const char* kText = "there are many things that can be said";
const std::string kNetwork = std::string(BP_OWN_MODELS) + "/parakeet-mini/parakeet-mini-q8_0.gguf";
const std::string kFlac = std::string(BP_OWN_MODELS) + "/parakeet-mini/example.flac";
const std::string kPcm = std::string(BP_TEST_SOURCE_DIR) + "/tests/e2e/speech/clip.pcm";

Outcome transcribe(const Place& place, std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "transcribe");
    arguments.insert(arguments.end(), {"--model", kNetwork, "--device", "cpu"});
    return run(place, arguments);
}

TEST(NoAudio, ASoundFileIsRefusedInOneLineThatSaysWhatToDo) {
    const Place p;
    for (const std::string& name : {kFlac, std::string("-"), p.at("missing.wav")}) {
        const Outcome o = transcribe(p, {name, "--output", p.at("out.txt")});
        EXPECT_EQ(o.exit_code, 1) << name;
        EXPECT_TRUE(is_one_line(o.err)) << o.err;
        EXPECT_NE(o.err.find("BACKPLANE_AUDIO=ON"), std::string::npos) << o.err;
        EXPECT_NE(o.err.find("--live"), std::string::npos) << o.err;
        EXPECT_TRUE(o.out.empty()) << o.out;
        EXPECT_FALSE(fs::exists(p.at("out.txt")));
    }
    fs::copy_file(kFlac, p.at("a.flac"));
    const Outcome several = transcribe(p, {kFlac, p.at("a.flac"), "--json"});
    EXPECT_EQ(several.exit_code, 1);
    EXPECT_EQ(std::count(several.err.begin(), several.err.end(), '\n'), 2) << several.err;
    EXPECT_NE(several.out.find("\"not supported\""), std::string::npos) << several.out;
}

TEST(NoAudio, PcmOfAPipeIsTranscribed) {
    const Place p;
    for (const std::string live : {"--live", "--stream"}) {  // the second without a value is the first
        const Outcome o = shell(p, std::string(BP_TEST_CLI) + " transcribe - " + live + " --json --device cpu --model " +
                                       kNetwork + " < " + kPcm + " > " + p.at("said.json"));
        ASSERT_EQ(o.exit_code, 0) << o.err;
        const std::string said = content(p.at("said.json"));
        EXPECT_NE(said.find(kText), std::string::npos) << said;
    }
}

TEST(NoAudio, OtherCommandsAreAsTheyWere) {
    const Place p;
    const Outcome devices = run(p, {"devices"});
    EXPECT_EQ(devices.exit_code, 0) << devices.err;
    EXPECT_NE(devices.out.find("cpu:0"), std::string::npos);
    const Outcome converted = run(p, {"model", "convert", kNetwork, "-o", p.at("small.gguf"), "--dtype", "q4_0"});
    EXPECT_EQ(converted.exit_code, 0) << converted.err;
    EXPECT_TRUE(fs::exists(p.at("small.gguf")));
    const Outcome speech = run(p, {"bench", "speech", "--model", kNetwork, "--seconds", "1", "--runs", "1", "--json"});
    EXPECT_EQ(speech.exit_code, 0) << speech.err;
}

TEST(NoAudio, TheLibraryTranscribesSamplesAndRefusesFiles) {
    for (const char* name : {"a.flac", "missing.wav"}) {
        try {
            static_cast<void>(AudioReader::open(name));
            FAIL() << name;
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), Code::unsupported);
            EXPECT_NE(std::string(error.what()).find(name), std::string::npos) << error.what();
        }
    }
    EXPECT_THROW(static_cast<void>(AudioReader::open_input()), Error);
    const std::string bytes = content(kPcm);
    std::vector<float> samples(bytes.size() / 2);
    for (size_t i = 0; i < samples.size(); ++i)
        samples[i] = static_cast<float>(static_cast<int16_t>(static_cast<uint8_t>(bytes[2 * i]) |
                                                             static_cast<uint8_t>(bytes[2 * i + 1]) << 8)) /
                     32768.0F;
    Transcriber network({parakeet::device_of("cpu")}, kNetwork);
    EXPECT_EQ(network.transcribe(samples).text, kText);
}

// What is tested is the build without them: the program has nothing of what reads sound files.
TEST(NoAudio, NothingOfLibsndfileIsLinked) {
    const std::string bytes = content(BP_TEST_CLI);
    ASSERT_GT(bytes.size(), 100000U);
    EXPECT_NE(bytes.find("BACKPLANE_AUDIO=ON"), std::string::npos);
    // As names of their own, which a library to load is: the machines in `backplane machine list` have them, too, each in quotes.
    for (const char* name : {"libsndfile.so", "libsamplerate.so", "sf_open"})
        EXPECT_EQ(bytes.find(std::string(1, '\0') + name), std::string::npos) << name;
}

}  // namespace
}  // namespace backplane::e2e
