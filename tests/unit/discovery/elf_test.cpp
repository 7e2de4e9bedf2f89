#include <gtest/gtest.h>

#include <random>

#include "files.hpp"

namespace backplane::discovery::testing {
namespace {

TEST(Elf, AWholeModuleIsReadWithItsDescriptor) {
    const Inspection m = inspect_bytes(module_bytes());
    EXPECT_EQ(m.problem, ReasonCode::none) << m.text;
    ASSERT_TRUE(m.descriptor);
    EXPECT_EQ(m.descriptor->backend, "minimal");
    EXPECT_EQ(m.descriptor->abi, BP_ABI);
    EXPECT_EQ(m.binary, [&] {
        Binary expected = m.binary;
        expected.machine = host_binary().machine;
        expected.bits = host_binary().bits;
        return expected;
    }());
}

TEST(Elf, CutOffAtAnyByteItIsRefused) {
    const Bytes whole = module_bytes();
    for (size_t size = 0; size < whole.size(); size += size < 1024 ? 1 : 97) {
        const Inspection m = inspect_bytes(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)));
        EXPECT_EQ(m.problem, ReasonCode::truncated) << "at " << size << ": " << m.text;
        EXPECT_NE(m.text.find("cut off"), std::string::npos) << m.text;
    }
}

TEST(Elf, NoSingleChangedByteOfTheHeadersMakesTheReaderMisbehave) {
    const Bytes whole = module_bytes();
    for (size_t at = 0; at < 1024 && at < whole.size(); ++at)
        for (const int flip : {0xff, 0x80, 0x01}) {
            Bytes changed = whole;
            changed[at] ^= static_cast<std::byte>(flip);
            const Inspection m = inspect_bytes(changed);  // no crash, no endless loop
            EXPECT_EQ(m.problem == ReasonCode::none, m.text.empty());
        }
}

TEST(Elf, RandomBytesAfterTheMagicAreSurvived) {
    std::mt19937 random(7);
    for (int round = 0; round < 2000; ++round) {
        Bytes bytes = module_bytes();
        bytes.resize(4096);
        for (int i = 0; i < 64; ++i) bytes[16 + random() % 900] = static_cast<std::byte>(random());
        inspect_bytes(bytes);
    }
}

TEST(Elf, AFileOfAnotherMachineIsNotReadFurther) {
    Bytes bytes = module_bytes();
    bytes[4] = std::byte{1};  // 32 bits
    const Inspection m = inspect_bytes(bytes);
    EXPECT_EQ(m.binary.bits, 32U);
    EXPECT_FALSE(m.descriptor);
}

TEST(Elf, AProgramIsNotALibrary) {
    Bytes bytes = module_bytes();
    patch<uint16_t>(bytes, 16, 2);  // ET_EXEC
    EXPECT_EQ(inspect_bytes(bytes).problem, ReasonCode::not_a_module);
}

TEST(Elf, TheBuildIdAndTheLibrariesItNeedsAreRead) {
    const Inspection m = inspect_bytes(module_bytes());
    EXPECT_EQ(m.binary.build_id.size() % 2, 0U);
    EXPECT_LE(m.binary.needed.size(), 4U);
    for (const std::string& name : m.binary.needed) EXPECT_NE(name.find(".so"), std::string::npos) << name;
}

}  // namespace
}  // namespace backplane::discovery::testing
