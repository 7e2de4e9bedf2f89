// transcribe -: sound through a pipe, which nobody can go back in, and lines as they come.
#include <gtest/gtest.h>

#include <array>

#include "program.hpp"

namespace backplane::e2e {
namespace {

const std::string kFolder = std::string(BP_TEST_SOURCE_DIR) + "/models/parakeet-mini/";
const std::string kFlac = kFolder + "example.flac";
const std::string kTranscribe =
    std::string(BP_TEST_CLI) + " transcribe - --device cpu --model " + kFolder + "parakeet-mini-q8_0.gguf ";

// What is said of what these commands write.
Outcome said_of(const Place& place, const std::string& commands) {
    Outcome outcome = shell(place, "(" + commands + ") | " + kTranscribe + " > " + place.at("said.txt"));
    outcome.out = content(place.at("said.txt"));
    return outcome;
}

TEST(CliTranscribePipe, WhatIsNoSoundIsRefusedInOneLine) {
    const Place p;
    for (const char* commands : {":", "printf f", "printf fLaC", "printf 'fLaC and no more'", "head -c 10000 /dev/zero"}) {
        const Outcome o = said_of(p, commands);
        EXPECT_EQ(o.exit_code, 1) << commands;
        EXPECT_TRUE(is_one_line(o.err)) << commands << ": " << o.err;
        EXPECT_NE(o.err.find("the input stream"), std::string::npos) << o.err;
        EXPECT_TRUE(o.out.empty()) << o.out;
    }
}

TEST(CliTranscribePipe, AFlacFileIsReadWholeInPiecesAndCutOff) {
    const Place p;
    const Outcome whole = said_of(p, "cat " + kFlac);
    EXPECT_EQ(whole.exit_code, 0) << whole.err;
    EXPECT_EQ(whole.out.rfind("there are many things that can be said", 0), 0U) << whole.out;
    EXPECT_NE(whole.out.find("by the river\n"), std::string::npos) << whole.out;
    const Outcome pieces =
        said_of(p, "printf f; sleep 0.1; printf La; tail -c +4 " + kFlac + " | head -c 50; sleep 0.1; tail -c +54 " + kFlac);
    EXPECT_EQ(pieces.exit_code, 0) << pieces.err;
    EXPECT_EQ(pieces.out, whole.out);
    const Outcome cut = said_of(p, "head -c 60000 " + kFlac);
    EXPECT_EQ(cut.exit_code, 0) << cut.err;
    EXPECT_EQ(cut.out.rfind("there are many", 0), 0U) << cut.out;
    EXPECT_LT(cut.out.size(), whole.out.size()) << cut.out;
}

// Who stops a recording wants the line that was being said.
TEST(CliTranscribePipe, ASignalEndsTheLineOfALiveStream) {
    const Place p;
    const std::string lines = p.at("lines.txt");
    const Outcome o = shell(p, "cd " + p.at("") + "; mkfifo sound; " + kTranscribe + " --live < sound > " + lines +
                                   " & it=$!; exec 3> " + p.at("sound") + "; cat " + BP_TEST_SOURCE_DIR +
                                   "/tests/e2e/speech/clip.pcm >&3; until grep -q 'things that can' " + lines +
                                   "; do sleep 0.05; done; kill -TERM $it; head -c 3200 /dev/zero >&3; wait $it");
    EXPECT_EQ(o.exit_code, 143);
    EXPECT_EQ(o.err, "backplane: cancelled: what was said until then is transcribed\n");
    const std::string said = content(lines);
    EXPECT_NE(said.find("] there are many things that can be said\n"), std::string::npos) << said;
    EXPECT_NE(said.find(" ...\n"), std::string::npos) << said;
}

// Of 16 bit: where its samples begin.
std::string wav_header(uint16_t channels, uint32_t rate, const std::string& before_data = "") {
    std::string header = "RIFF";
    const auto number = [&](uint32_t value, int bytes) {
        for (int i = 0; i < bytes; ++i) header += static_cast<char>(value >> (8 * i) & 255);
    };
    number(0xFFFFFFFF, 4);  // as of a recording that goes on
    header += "WAVEfmt ";
    number(16, 4);
    number(1, 2);
    number(channels, 2);
    number(rate, 4);
    number(rate * channels * 2, 4);
    number(channels * 2U, 2);
    number(16, 2);
    header += before_data + "data";
    number(0xFFFFFFFF, 4);
    return header;
}

TEST(CliTranscribePipe, ALiveStreamOfAWavFileIsThatOfItsSamples) {
    const Place p;
    const std::string pcm = std::string(BP_TEST_SOURCE_DIR) + "/tests/e2e/speech/clip.pcm";
    const auto lines = [&](const std::string& commands) {
        const Outcome o = shell(p, "(" + commands + ") | " + kTranscribe + " --live > " + p.at("said.txt"));
        EXPECT_EQ(o.exit_code, 0) << o.err;
        return content(p.at("said.txt"));
    };
    std::ofstream(p.at("plain"), std::ios::binary) << wav_header(1, 16000);
    std::ofstream(p.at("more"), std::ios::binary) << wav_header(1, 16000, std::string("LIST\3\0\0\0abc\0", 12));
    const std::string said = lines("cat " + pcm);
    EXPECT_NE(said.find("there are many things"), std::string::npos) << said;
    // The header is out of the way, so that the pieces in which samples come are others: what is said is not.
    const auto last = [](const std::string& text) { return text.substr(text.find_last_of(']', text.size() - 2)); };
    for (const char* header : {"plain", "more"})
        EXPECT_EQ(last(lines("cat " + p.at(header) + " " + pcm)), last(said)) << header;
}

TEST(CliTranscribePipe, ALiveStreamOfWhatIsNoSuchPcmIsRefusedInOneLine) {
    const Place p;
    std::ofstream(p.at("stereo"), std::ios::binary) << wav_header(2, 44100) << std::string(4000, 'x');
    std::ofstream(p.at("slow"), std::ios::binary) << wav_header(1, 8000);
    std::ofstream(p.at("cut"), std::ios::binary) << wav_header(1, 16000).substr(0, 40);
    std::ofstream(p.at("lies"), std::ios::binary) << wav_header(1, 16000, std::string("LIST\xff\xff\xff\xff", 8));
    std::ofstream(p.at("ogg"), std::ios::binary) << "OggS and more";
    const std::vector<std::array<std::string, 2>> cases{
        {kFlac, "a FLAC file"},         {p.at("stereo"), "2 channels, 44100 Hz"}, {p.at("slow"), "1 channel, 8000 Hz"},
        {p.at("cut"), "are not found"}, {p.at("lies"), "are not found"},          {p.at("ogg"), "an Ogg file"}};
    for (const auto& [file, why] : cases) {
        const Outcome o = shell(p, kTranscribe + " --live < " + file + " > " + p.at("said.txt"));
        EXPECT_EQ(o.exit_code, 1) << file;
        EXPECT_TRUE(is_one_line(o.err)) << o.err;
        EXPECT_NE(o.err.find(why), std::string::npos) << o.err;
        EXPECT_NE(o.err.find("one channel, 16000 Hz"), std::string::npos) << o.err;
        EXPECT_TRUE(content(p.at("said.txt")).empty());
    }
}

TEST(CliTranscribePipe, LiveWithoutSoundOrWordsSaysSo) {
    const Place p;
    const Outcome empty = shell(p, kTranscribe + " --live < /dev/null > " + p.at("said.txt"));
    EXPECT_EQ(empty.exit_code, 1);
    EXPECT_TRUE(is_one_line(empty.err)) << empty.err;
    EXPECT_NE(empty.err.find("the input stream: it is empty"), std::string::npos) << empty.err;
    for (const char* bytes : {"1", "64000"}) {
        const Outcome quiet =
            shell(p, std::string("head -c ") + bytes + " /dev/zero | " + kTranscribe + " --live > " + p.at("said.txt"));
        EXPECT_EQ(quiet.exit_code, 0) << bytes << ": " << quiet.err;
        EXPECT_EQ(quiet.err, "note: no word was heard in the input stream\n");
        EXPECT_TRUE(content(p.at("said.txt")).empty());
    }
}

// The new file would have taken the place of what was printed before, and the rest of it gone nowhere.
TEST(CliTranscribePipe, AFileIsNotWrittenWhereTheCommandPrints) {
    const Place p;
    const std::string log = p.at("log.txt"), command = kTranscribe + " < " + kFlac + " --output ";
    for (const std::string& where :
         {std::string("/dev/stdout >> "), std::string("/dev/stderr 2>> "), log + " >> ", log + " 2>> "}) {
        std::ofstream(log) << "before\n";
        const Outcome o = shell(p, command + where + log);
        EXPECT_EQ(o.exit_code, 2) << where;
        const std::string all = content(log) + o.err;
        EXPECT_EQ(content(log).rfind("before\n", 0), 0U) << where << ": " << content(log);
        EXPECT_NE(all.find("is where this command prints to"), std::string::npos) << where << ": " << all;
    }
}

TEST(CliTranscribePipe, ADiskThatIsFullIsCalledThat) {
    if (::access("/dev/full", W_OK) != 0) GTEST_SKIP() << "there is no /dev/full";
    const Place p;
    const Outcome o = shell(p, kTranscribe + " < " + kFlac + " > /dev/full");
    EXPECT_EQ(o.exit_code, 1);
    EXPECT_EQ(o.err, "backplane: cannot write the output: No space left on device\n");
}

}  // namespace
}  // namespace backplane::e2e
