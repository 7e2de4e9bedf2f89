// A real module file of Windows: what the linker wrote, whole and spoiled.
#include <gtest/gtest.h>

#include "files.hpp"

namespace backplane::discovery::testing {
namespace {

TEST(PeModule, AWholeModuleIsReadWithItsDescriptor) {
    const Inspection m = inspect_bytes(module_bytes());
    EXPECT_EQ(m.problem, ReasonCode::none) << m.text;
    ASSERT_TRUE(m.descriptor);
    EXPECT_EQ(m.descriptor->backend, "minimal");
    EXPECT_EQ(m.descriptor->abi, BP_ABI);
    EXPECT_EQ(m.binary.machine, host_binary().machine);
    EXPECT_EQ(m.binary.bits, host_binary().bits);
    EXPECT_FALSE(m.binary.needed.empty());
}

TEST(PeModule, CutOffAtAnyByteItIsRefused) {
    const Bytes whole = module_bytes();
    for (size_t size = 2; size < whole.size(); size += size < 1024 ? 1 : 97) {
        const Inspection m = inspect_bytes(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)));
        // After the last section lie symbols for debuggers, which loading does not need.
        EXPECT_TRUE(m.problem != ReasonCode::none || m.descriptor) << "at " << size;
    }
}

TEST(PeModule, NoSingleChangedByteOfTheHeadersMakesTheReaderMisbehave) {
    const Bytes whole = module_bytes();
    for (size_t at = 0; at < 1024 && at < whole.size(); ++at)
        for (const int flip : {0xff, 0x80, 0x01}) {
            Bytes changed = whole;
            changed[at] ^= static_cast<std::byte>(flip);
            const Inspection m = inspect_bytes(changed);  // no crash, no endless loop
            EXPECT_EQ(m.problem == ReasonCode::none, m.text.empty());
        }
}

}  // namespace
}  // namespace backplane::discovery::testing
