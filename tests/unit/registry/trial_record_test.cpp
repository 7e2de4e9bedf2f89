// What is made of the words of a module whose trial ended early.
#include "registry/trial_record.hpp"

#include <gtest/gtest.h>

namespace backplane::registry {
namespace {

const std::string kSecond =
    "step load\nsaid of the module\ndevices 2\nat {\"place\": 0, \"name\": \"CPU\", \"identity\": \"\"}\nsaid of the "
    "first\nsound\n"
    "at {\"place\": 1, \"name\": \"CUDA0\", \"identity\": \"pci\"}\nstep run of device 1\n";

base::ChildOutcome aborted(const std::string& output) {
    base::ChildOutcome child;
    child.signal = 6;
    child.output = output;
    return child;
}

TEST(TrialRecord, ADeviceThatEndsTheProcessIsGivenWithItsOwnErrorsAndNoOthers) {
    const TrialRecord record(kSecond + "said unsupported toolchain\nsaid it ends the process\n");
    const auto fault = fault_of_device(aborted("a page of addresses"), record);
    ASSERT_TRUE(fault);
    EXPECT_EQ(fault->name, "CUDA0");
    EXPECT_EQ(fault->place, 1U);
    EXPECT_TRUE(fault->ends_process);
    EXPECT_EQ(fault->reason,
              "crashed with " + base::name_of_signal(6) +
                  " during 'run of device 1' in its trial; it said: \"unsupported toolchain; it ends the process\"");
}

TEST(TrialRecord, OneThatLogsNothingIsGivenWithTheEndOfWhatItPrinted) {
    const auto fault = fault_of_device(aborted("terminate called\x1b[2J\n"), TrialRecord(kSecond));
    ASSERT_TRUE(fault);
    EXPECT_NE(fault->reason.find("in its trial; its last output: \"terminate called [2J\""), std::string::npos)
        << fault->reason;
}

TEST(TrialRecord, OfManyErrorsTheFirstAreKept) {
    std::string text = kSecond;
    for (int i = 0; i < 1000; ++i) text += "said error number " + std::to_string(i) + "\n";
    const auto fault = fault_of_device(aborted(""), TrialRecord(text));
    ASSERT_TRUE(fault);
    EXPECT_NE(fault->reason.find("error number 0; error number 1;"), std::string::npos) << fault->reason;
    EXPECT_LT(fault->reason.size(), 600U);
}

TEST(TrialRecord, ADeviceWhoseTurnIsOverIsNotToBlame) {
    EXPECT_FALSE(fault_of_device(aborted(""), TrialRecord(kSecond + "sound\nstep close\n")));
    EXPECT_FALSE(fault_of_device(aborted(""), TrialRecord("step load\n")));
}

}  // namespace
}  // namespace backplane::registry
