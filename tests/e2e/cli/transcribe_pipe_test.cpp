// transcribe -: sound through a pipe, which nobody can go back in, and lines as they come.
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace backplane::e2e
