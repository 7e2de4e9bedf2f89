#include <gtest/gtest.h>

#include "backplane/note.h"
#include "files.hpp"

namespace backplane::discovery::testing {
namespace {

constexpr uint32_t kArm64 = 0x0100000c;
constexpr uint32_t kX86 = 0x01000007;
constexpr size_t kMachONote = 0x200;
constexpr size_t kFile = 0x300;

void text_at(Bytes& bytes, size_t at, std::string_view words) { std::memcpy(bytes.data() + at, words.data(), words.size()); }

// A macOS bundle with one segment, our section, a need, a weak need, a run path and a build id, laid out by hand after <mach-o/loader.h>.
Bytes bundle(uint32_t machine, const std::string& json) {
    Bytes bytes(kFile);
    size_t at = 32;
    uint32_t commands = 0;
    auto command = [&](uint32_t type, uint32_t size) {
        patch<uint32_t>(bytes, at, type);
        patch<uint32_t>(bytes, at + 4, size);
        at += size;
        ++commands;
        return at - size;
    };
    auto with_text = [&](uint32_t type, uint32_t offset, std::string_view words) {
        const size_t start = command(type, 56);
        patch<uint32_t>(bytes, start + 8, offset);
        text_at(bytes, start + offset, words);
    };
    const size_t segment = command(0x19, 72 + 80);
    text_at(bytes, segment + 8, "__TEXT");
    patch<uint64_t>(bytes, segment + 48, kFile);  // its bytes in the file, from 0
    patch<uint32_t>(bytes, segment + 64, 1);      // sections
    text_at(bytes, segment + 72, "__bpnote");
    text_at(bytes, segment + 88, "__TEXT");
    patch<uint64_t>(bytes, segment + 112, 24 + json.size());
    patch<uint32_t>(bytes, segment + 120, kMachONote);
    with_text(0xc, 24, "/usr/lib/libSystem.B.dylib");
    with_text(0x80000018, 24, "/opt/lib/weak.dylib");
    with_text(0x8000001c, 12, "@loader_path/lib");
    bytes[command(0x1b, 24) + 8] = std::byte{0xa7};
    patch<uint32_t>(bytes, 0, 0xfeedfacf);
    patch<uint32_t>(bytes, 4, machine);
    patch<uint32_t>(bytes, 12, 8);  // a bundle
    patch<uint32_t>(bytes, 16, commands);
    patch<uint32_t>(bytes, 20, static_cast<uint32_t>(at - 32));
    text_at(bytes, kMachONote, "BPN1");
    patch<uint32_t>(bytes, kMachONote + 4, BP_NOTE_PREFIX_SIZE);
    patch<uint32_t>(bytes, kMachONote + 8, BP_ABI);
    patch<uint32_t>(bytes, kMachONote + 16, static_cast<uint32_t>(json.size()));
    text_at(bytes, kMachONote + 24, json);
    return bytes;
}

void big_endian(Bytes& bytes, size_t at, uint32_t value) {
    for (size_t i = 0; i < 4; ++i) bytes[at + i] = static_cast<std::byte>(value >> (24 - 8 * i) & 0xffu);
}

Bytes two_slices(uint32_t first, uint32_t second) {
    Bytes bytes(0x100);
    big_endian(bytes, 0, 0xcafebabe);
    big_endian(bytes, 4, 2);
    for (size_t i = 0; i < 2; ++i) {
        const uint32_t machine = i == 0 ? first : second;
        const Bytes slice = bundle(machine, machine == kArm64 ? R"({"backend":"arm"})" : R"({"backend":"intel"})");
        big_endian(bytes, 8 + i * 20, machine);
        big_endian(bytes, 8 + i * 20 + 8, static_cast<uint32_t>(bytes.size()));
        big_endian(bytes, 8 + i * 20 + 12, static_cast<uint32_t>(slice.size()));
        bytes.insert(bytes.end(), slice.begin(), slice.end());
    }
    return bytes;
}

Inspection inspect_macho(const Bytes& bytes) {
    Inspection result;
    result.path = "/modules/tool.so";
    const std::vector<std::byte> note = read_macho(MemoryBytes(bytes), result);
    if (result.problem == ReasonCode::none && !note.empty()) read_descriptor(note, result);
    return result;
}

TEST(MachO, ADescriptorInItsSectionIsRead) {
    const Inspection m = inspect_macho(bundle(kArm64, R"({"backend":"tool","version":"2.1"})"));
    ASSERT_TRUE(m.descriptor) << m.text;
    EXPECT_EQ(m.descriptor->backend, "tool");
    EXPECT_EQ(name_of_machine(m.binary), "macOS on arm64");
}

TEST(MachO, NeedsRunPathsAndBuildIdAreReadAndAWeakLibraryIsNoNeed) {
    const Binary b = inspect_macho(bundle(kX86, R"({"backend":"tool"})")).binary;
    EXPECT_EQ(b.needed, std::vector<std::string>{"/usr/lib/libSystem.B.dylib"});
    EXPECT_EQ(b.run_paths, std::vector<fs::path>{"/modules/lib"});
    EXPECT_EQ(b.build_id, "a7" + std::string(30, '0'));
}

TEST(MachO, OfSeveralSlicesTheOneForThisMachineIsReadWhereverItStands) {
    const Inspection a = inspect_macho(two_slices(kArm64, kX86));
    const Inspection b = inspect_macho(two_slices(kX86, kArm64));
    ASSERT_TRUE(a.descriptor) << a.text;
    ASSERT_TRUE(b.descriptor) << b.text;
    EXPECT_EQ(a.descriptor->backend, b.descriptor->backend);
    EXPECT_EQ(a.binary.machine, b.binary.machine);
}

TEST(MachO, WithoutASliceForThisMachineTheFirstSaysWhatTheFileIsFor) {
    EXPECT_EQ(inspect_macho(two_slices(12, 18)).binary.machine, 12U);
}

TEST(MachO, AJavaClassIsNoLibrary) {
    Bytes bytes(64);
    big_endian(bytes, 0, 0xcafebabe);
    big_endian(bytes, 4, 52);
    const Inspection m = inspect_macho(bytes);
    EXPECT_EQ(m.problem, ReasonCode::not_a_module);
    EXPECT_EQ(m.binary.format, Format::none);
}

TEST(MachO, AFileOnDiskIsKnownByItsFirstBytes) {
    const Folder folder;
    for (const Bytes& bytes : {bundle(kArm64, R"({"backend":"arm"})"), two_slices(kArm64, kX86)})
        EXPECT_EQ(inspect(folder.add("tool.so", bytes)).binary.format, Format::macho);
}

TEST(MachO, CutOffAtAnyByteItIsRefused) {
    for (const Bytes& whole : {bundle(kArm64, R"({"backend":"tool"})"), two_slices(kArm64, kX86)})
        for (size_t size = 4; size < whole.size(); ++size) {
            const Inspection m = inspect_macho(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)));
            // Slices after the one for this machine are not looked at.
            if (size < 0x100 + kFile) {
                EXPECT_NE(m.problem, ReasonCode::none) << "at " << size;
            }
        }
}

TEST(MachO, NoSingleChangedByteMakesTheReaderMisbehave) {
    for (const Bytes& whole : {bundle(kArm64, R"({"backend":"tool"})"), two_slices(kArm64, kX86)})
        for (size_t at = 0; at < whole.size(); ++at)
            for (const int flip : {0xff, 0x80, 0x01}) {
                Bytes changed = whole;
                changed[at] ^= static_cast<std::byte>(flip);
                inspect_macho(changed);
            }
}

}  // namespace
}  // namespace backplane::discovery::testing
