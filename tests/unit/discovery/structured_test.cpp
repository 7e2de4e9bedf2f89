// Thousands of files by the generators that the fuzzers steer, from a fixed seed: judging each keeps to its limits of steps.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "backplane/note.h"
#include "files.hpp"
#include "fuzz/structured_elf.hpp"
#include "fuzz/structured_macho.hpp"
#include "fuzz/structured_pe.hpp"

namespace backplane::discovery::testing {
namespace {

using Reader = std::vector<std::byte> (*)(const ByteSource&, Inspection&);
using Generator = fuzz::File (*)(fuzz::Choices);

// How often each verdict came, by the reader alone.
std::map<ReasonCode, int> judge_many(Generator generate, Reader read, int count) {
    std::mt19937 random(11);
    std::map<ReasonCode, int> seen;
    for (int i = 0; i < count; ++i) {
        Bytes choices(64);
        // Most choices are the ordinary one, so that a file is extreme in few ways at a time.
        for (std::byte& b : choices) b = static_cast<std::byte>(random() % 3 == 0 ? random() : 0);
        const fuzz::File file = generate(fuzz::Choices(choices));
        EXPECT_EQ(fuzz::judged(file, read), "") << "file " << i << " of " << file.size() << " bytes";
        Inspection m;
        static_cast<void>(read(MemoryBytes(file), m));
        ++seen[m.problem];
    }
    return seen;
}

TEST(Structured, ExtremeElfFilesAreJudgedWithinTheLimitsOfSteps) {
    const auto seen = judge_many(fuzz::structured_elf, read_elf, 2000);
    EXPECT_GT(seen.at(ReasonCode::none), 100);
    EXPECT_GT(seen.at(ReasonCode::too_large), 100);
}

TEST(Structured, ExtremeWindowsLibrariesAreJudgedWithinTheLimitsOfSteps) {
    const auto seen = judge_many(fuzz::structured_pe, read_pe, 2000);
    EXPECT_GT(seen.at(ReasonCode::none), 100);
    EXPECT_GT(seen.at(ReasonCode::too_large), 100);
}

TEST(Structured, ExtremeMacBundlesAreJudgedWithinTheLimitsOfSteps) {
    const auto seen = judge_many(fuzz::structured_macho, read_macho, 1000);
    EXPECT_GT(seen.at(ReasonCode::none), 50);
    EXPECT_GT(seen.at(ReasonCode::too_large), 50);
}

}  // namespace
}  // namespace backplane::discovery::testing
