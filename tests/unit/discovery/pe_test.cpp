#include <gtest/gtest.h>

#include "backplane/note.h"
#include "files.hpp"

namespace backplane::discovery::testing {
namespace {

constexpr size_t kPe = 0x80;
constexpr size_t kOptional = kPe + 24;
constexpr size_t kSections = kOptional + 240;
constexpr size_t kPeNote = 0x400;

// A Windows library with nothing but our section, laid out by hand after the format's document.
Bytes windows_library(const std::string& json) {
    Bytes bytes(0x600);
    auto text = [&](size_t at, std::string_view words) { std::memcpy(bytes.data() + at, words.data(), words.size()); };
    text(0, "MZ");
    patch<uint32_t>(bytes, 0x3c, kPe);
    text(kPe, std::string_view("PE\0\0", 4));
    patch<uint16_t>(bytes, kPe + 4, 0x8664);
    patch<uint16_t>(bytes, kPe + 6, 1);     // sections
    patch<uint16_t>(bytes, kPe + 20, 240);  // size of the optional header
    patch<uint16_t>(bytes, kPe + 22, 0x2022);
    patch<uint16_t>(bytes, kOptional, 0x20b);
    text(kSections, ".bpnote");
    patch<uint32_t>(bytes, kSections + 8, 0x200);  // virtual size
    patch<uint32_t>(bytes, kSections + 12, 0x1000);
    patch<uint32_t>(bytes, kSections + 16, 0x200);  // size in the file
    patch<uint32_t>(bytes, kSections + 20, kPeNote);
    text(kPeNote, "BPN1");
    patch<uint32_t>(bytes, kPeNote + 4, BP_NOTE_PREFIX_SIZE);
    patch<uint32_t>(bytes, kPeNote + 8, BP_ABI);
    patch<uint32_t>(bytes, kPeNote + 16, static_cast<uint32_t>(json.size()));
    text(kPeNote + 24, json);
    return bytes;
}

Inspection inspect_pe(const Bytes& bytes) {
    Inspection result;
    const std::vector<std::byte> note = read_pe(MemoryBytes(bytes), result);
    if (result.problem == ReasonCode::none && !note.empty()) read_descriptor(note, result);
    return result;
}

TEST(Pe, ADescriptorInItsSectionIsRead) {
    const Inspection m = inspect_pe(windows_library(R"({"backend":"tool","version":"2.1"})"));
    ASSERT_TRUE(m.descriptor) << m.text;
    EXPECT_EQ(m.descriptor->backend, "tool");
    EXPECT_EQ(name_of_machine(m.binary), "Windows on x86-64");
}

TEST(Pe, CutOffAtAnyByteItIsRefused) {
    const Bytes whole = windows_library(R"({"backend":"tool"})");
    for (size_t size = 2; size < whole.size(); ++size) {
        const Inspection m = inspect_pe(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)));
        EXPECT_NE(m.problem, ReasonCode::none) << "at " << size;
    }
}

TEST(Pe, NoSingleChangedByteMakesTheReaderMisbehave) {
    const Bytes whole = windows_library(R"({"backend":"tool"})");
    for (size_t at = 0; at < whole.size(); ++at)
        for (const int flip : {0xff, 0x80, 0x01}) {
            Bytes changed = whole;
            changed[at] ^= static_cast<std::byte>(flip);
            inspect_pe(changed);
        }
}

}  // namespace
}  // namespace backplane::discovery::testing
