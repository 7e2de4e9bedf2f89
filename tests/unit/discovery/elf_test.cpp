#include <gtest/gtest.h>

#include <array>
#include <random>

#include "discovery/judge.hpp"
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
    Bytes whole = module_bytes();
    whole.resize(4096);
    for (int round = 0; round < 2000; ++round) {
        Bytes bytes = whole;
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

// Where the program header of a type stands; 0: there is none.
size_t program_header(const Bytes& bytes, uint32_t type) {
    uint64_t at = 0;
    uint16_t count = 0;
    std::memcpy(&at, bytes.data() + 32, sizeof at);
    std::memcpy(&count, bytes.data() + 56, sizeof count);
    for (; count > 0; --count, at += 56) {
        uint32_t found = 0;
        std::memcpy(&found, bytes.data() + at, sizeof found);
        if (found == type) return at;
    }
    return 0;
}

TEST(Elf, AnExecutableStackIsRefusedByItsOwnCodeWithARemedy) {
    Bytes bytes = module_bytes();
    const size_t stack = program_header(bytes, 0x6474e551);
    ASSERT_NE(stack, 0U);
    EXPECT_EQ(judge(inspect_bytes(bytes), this_host("")).code, ReasonCode::none);
    patch<uint32_t>(bytes, stack + 4, 7);
    const Judgement j = judge(inspect_bytes(bytes), this_host(""));
    EXPECT_STREQ(name_of(j.code), "executable-stack");
    EXPECT_NE(j.remedy.find("noexecstack"), std::string::npos) << j.remedy;
    patch<uint32_t>(bytes, stack, 0x60000000);  // no word of the stack: x86-64 makes it executable, arm64 does not
    EXPECT_EQ(inspect_bytes(bytes).binary.executable_stack, host_binary().machine == 62);
}

// A file of one run path, as the loader reads it.
Bytes with_run_path(const std::string& list, size_t needed = 1) {
    Bytes bytes(64 + 2 * 56);
    auto text = [&](const std::string& words) {
        const size_t at = bytes.size();
        bytes.resize(at + words.size() + 1);
        std::memcpy(bytes.data() + at, words.data(), words.size());
        return at;
    };
    const size_t path = text(list);
    const size_t name = text("libsurely-not-there.so.77");
    bytes.resize((bytes.size() + 7) / 8 * 8);
    const size_t dynamic = bytes.size();
    std::vector<uint64_t> words{5, 0, 29, path};
    for (size_t i = 0; i < needed; ++i) words.insert(words.end(), {1, name});
    words.insert(words.end(), {0, 0});
    bytes.resize(dynamic + words.size() * 8);
    std::memcpy(bytes.data() + dynamic, words.data(), words.size() * 8);
    const std::array<uint8_t, 7> ident{0x7f, 'E', 'L', 'F', 2, 1, 1};
    std::memcpy(bytes.data(), ident.data(), ident.size());
    patch<uint16_t>(bytes, 16, 3);
    patch<uint16_t>(bytes, 18, static_cast<uint16_t>(host_binary().machine));
    patch<uint64_t>(bytes, 32, 64);
    patch<uint16_t>(bytes, 54, 56);
    patch<uint16_t>(bytes, 56, 2);
    patch<uint32_t>(bytes, 64, 1);  // all of it is loaded
    patch<uint64_t>(bytes, 64 + 32, bytes.size());
    patch<uint32_t>(bytes, 120, 2);
    patch<uint64_t>(bytes, 120 + 8, dynamic);
    patch<uint64_t>(bytes, 120 + 16, dynamic);
    patch<uint64_t>(bytes, 120 + 32, words.size() * 8);
    return bytes;
}

TEST(Elf, ARunPathOfManyFoldersIsRefusedWithItsLimit) {
    std::string list;
    for (int i = 0; i < 64; ++i) list += "/nowhere/" + std::to_string(i) + ":";
    EXPECT_EQ(inspect_bytes(with_run_path(list)).binary.run_paths.size(), 64U);
    const Inspection m = inspect_bytes(with_run_path(list + "/one/more"));
    EXPECT_STREQ(name_of(m.problem), "too-large");
    EXPECT_NE(m.text.find("more than 64 folders"), std::string::npos) << m.text;
    EXPECT_STREQ(name_of(inspect_bytes(with_run_path("/x", 257)).problem), "too-large");
}

TEST(Elf, ALongRunPathIsReadWholeAndItsWordsArePutIn) {
    const std::string deep = "/nix/store/" + std::string(300, 'x');
    const Inspection m = inspect_bytes(with_run_path(deep + ":$ORIGIN/../lib:${ORIGIN}:$ORIGINAL"));
    EXPECT_EQ(m.binary.run_paths, (std::vector<fs::path>{deep, "/../lib", "$ORIGINAL"})) << m.text;
    EXPECT_FALSE(m.binary.more_run_paths);
    EXPECT_TRUE(inspect_bytes(with_run_path("/opt/$LIB")).binary.more_run_paths);
}

// What stands far into a file is read in pieces there, and must not depend on where they end.
TEST(Elf, AFileOfManyLongNamesIsReadAsItsBytesInMemoryAre) {
    const Folder folder;
    for (const size_t length : {240, 255, 256, 257, 511, 1023, 1025, 2000}) {
        std::string list = "/start";
        for (int i = 0; i < 40; ++i) list += ":/" + std::string(length, static_cast<char>('a' + i % 26));
        const Bytes bytes = with_run_path(list, 3);
        const Inspection found = inspect(folder.add(library("backplane-long"), bytes));
        EXPECT_EQ(found.binary.run_paths.size(), 41U) << length << ": " << found.text;
        EXPECT_TRUE(found.binary == inspect_bytes(bytes).binary) << length;
    }
}

}  // namespace
}  // namespace backplane::discovery::testing
