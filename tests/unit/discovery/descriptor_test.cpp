#include <gtest/gtest.h>

#include "backplane/note.h"
#include "files.hpp"

namespace backplane::discovery::testing {
namespace {

Inspection read_json(const std::string& json) {
    Inspection m;
    read_descriptor_json(json, BP_ABI, 0, m);
    return m;
}

TEST(Descriptor, EveryFieldIsRead) {
    const Inspection m = read_json(R"({"backend":"tool-x","version":"1.2","build":"abc","licence":"MIT","cpu":["avx2","fma"],
        "needs":["liba.so.1",{"soname":"libb.so.2","priority":"suggested","least":"2.10"}],"priority":-7,"probe":"none",
        "watch":{"files":["/etc/x"],"env":["X"]},"holds":["/dev/x"],"something-new":[1,2]})");
    ASSERT_EQ(m.problem, ReasonCode::none) << m.text;
    const Descriptor& d = *m.descriptor;
    EXPECT_EQ(d.backend, "tool-x");
    EXPECT_EQ(d.cpu, (std::vector<std::string>{"avx2", "fma"}));
    ASSERT_EQ(d.needs.size(), 2U);
    EXPECT_EQ(d.needs[0].priority, "required");
    EXPECT_EQ(d.needs[1].soname, "libb.so.2");
    EXPECT_EQ(d.needs[1].least, "2.10");
    EXPECT_EQ(d.priority, -7);
    EXPECT_FALSE(d.probe_in_child);
    EXPECT_EQ(d.watch_env, std::vector<std::string>{"X"});
}

TEST(Descriptor, WhatIsNotSaidIsTriedWithCare) { EXPECT_TRUE(read_json(R"({"backend":"a"})").descriptor->probe_in_child); }

TEST(Descriptor, OptionsAreStatedOrNotSpokenOf) {
    const Inspection m = read_json(
        R"({"backend":"a","options":{"threads":{"least":1,"most":256},"kernels":{"values":["x","y"]},"path":{"new":1}}})");
    ASSERT_EQ(m.problem, ReasonCode::none) << m.text;
    ASSERT_TRUE(m.descriptor->options);
    const std::vector<StatedOption>& options = *m.descriptor->options;
    ASSERT_EQ(options.size(), 3U);  // by name
    EXPECT_EQ(options[0].values, (std::vector<std::string>{"x", "y"}));
    EXPECT_EQ(options[1].name, "path");
    EXPECT_EQ(options[2].most, 256);
    EXPECT_FALSE(read_json(R"({"backend":"a"})").descriptor->options);
    for (const char* bad : {"[]", "7", R"({"a":7})", R"({"a":{"least":"1"}})", R"({"a":{"values":"x"}})"})
        EXPECT_NE(read_json(std::string(R"({"backend":"a","options":)") + bad + "}").problem, ReasonCode::none) << bad;
}

TEST(Descriptor, OfTwoOfOneNameTheLastCounts) {
    const Inspection m = read_json(R"({"backend":"a","cpu":["avx2"],"backend":"b","cpu":[],"watch":{"env":["X"]},"watch":{},
        "options":{"n":{"least":1},"n":{"most":{"deep":[1,{"least":2}]}},"n":{"most":3}}})");
    ASSERT_EQ(m.problem, ReasonCode::none) << m.text;
    EXPECT_EQ(m.descriptor->backend, "b");
    EXPECT_TRUE(m.descriptor->cpu.empty());
    EXPECT_TRUE(m.descriptor->watch_env.empty());
    ASSERT_EQ(m.descriptor->options->size(), 1U);
    EXPECT_EQ(m.descriptor->options->front().least, 0);
    EXPECT_EQ(m.descriptor->options->front().most, 3);
}

TEST(Descriptor, NonsenseIsRefusedWithTheField) {
    const std::vector<std::pair<std::string, std::string>> cases{
        {"", "JSON"},
        {"nonsense", "JSON"},
        {"{\"backend\":\"a\"", "JSON"},
        {"[]", "object"},
        {"null", "object"},
        {"{}", "backend"},
        {R"({"backend":1})", "backend"},
        {R"({"backend":""})", "backend"},
        {R"({"backend":"../../x"})", "backend"},
        {R"({"backend":"Ä"})", "backend"},
        {R"({"backend":"a","interface":""})", "interface"},
        {R"({"backend":"a","interface":"../x"})", "interface"},
        {R"({"backend":"a","interface":["backplane"]})", "interface"},
        {R"({"interface":"backplane"})", "backend"},
        {R"({"backend":"a","cpu":"avx2"})", "cpu"},
        {R"({"backend":"a","cpu":[1]})", "cpu"},
        {R"({"backend":"a","needs":[{}]})", "needs"},
        {R"({"backend":"a","priority":"high"})", "priority"},
        {R"({"backend":"a","priority":1.5})", "priority"},
        {R"({"backend":"a","probe":"maybe"})", "probe"},
        {R"({"backend":"a","watch":[]})", "watch"},
        {R"({"backend":"a","holds":"/dev/x"})", "holds"},
        {R"({"backend":"a","version":"\u001b[31m"})", "version"},
        {"{\"backend\":\"a\",\"version\":\"" + std::string(300, 'x') + "\"}", "version"},
        {"{\"backend\":\"a\",\"x\":" + std::string(400, '[') + std::string(400, ']') + "}", "nested"},
        {std::string(5000, ' ') + "{\"backend\":\"a\"}", "4096"},
        {"{\"backend\":\"a\",\"version\":\"\xff\xfe\"}", "JSON"},
    };
    for (const auto& [json, word] : cases) {
        const Inspection m = read_json(json);
        EXPECT_EQ(m.problem, ReasonCode::bad_descriptor) << json;
        EXPECT_NE(m.text.find(word), std::string::npos) << json << " -> " << m.text;
    }
}

TEST(Descriptor, AnotherMajorAbiIsSaidEvenWhenTheRestCannotBeRead) {
    Bytes bytes = module_bytes();
    const size_t note = note_of(bytes);
    patch<uint32_t>(bytes, note + 8, 9U << 16 | 3);
    patch<uint32_t>(bytes, note + 4, 0xffff);  // a prefix of a size we cannot know
    const Inspection m = inspect_bytes(bytes);
    EXPECT_EQ(m.problem, ReasonCode::abi_mismatch);
    EXPECT_NE(m.text.find("9.3"), std::string::npos) << m.text;
}

TEST(Descriptor, ANewerMinorIsServed) {
    Bytes bytes = module_bytes();
    patch<uint32_t>(bytes, note_of(bytes) + 8, BP_ABI + 40);
    EXPECT_EQ(inspect_bytes(bytes).problem, ReasonCode::none);
}

TEST(Descriptor, LyingSizesInThePrefixAreRefused) {
    for (const uint32_t size : {0U, 23U, 5000U, 0xffffffffU}) {
        Bytes bytes = module_bytes();
        patch<uint32_t>(bytes, note_of(bytes) + 4, size);
        EXPECT_EQ(inspect_bytes(bytes).problem, ReasonCode::bad_descriptor) << size;
    }
    for (const uint32_t size : {4000U, 0x7fffffffU, 0xffffffffU}) {
        Bytes bytes = module_bytes();
        patch<uint32_t>(bytes, note_of(bytes) + 16, size);
        EXPECT_EQ(inspect_bytes(bytes).problem, ReasonCode::bad_descriptor) << size;
    }
}

TEST(Descriptor, ALongerPrefixOfALaterVersionIsSkipped) {
    const std::string json = R"({"backend":"later"})";
    Bytes bytes(32 + json.size());
    std::memcpy(bytes.data(), "BPN1", 4);
    patch<uint32_t>(bytes, 4, 32);
    patch<uint32_t>(bytes, 8, BP_ABI);
    patch<uint32_t>(bytes, 16, static_cast<uint32_t>(json.size()));
    std::memcpy(bytes.data() + 32, json.data(), json.size());
    Inspection m;
    read_descriptor(bytes, m);
    EXPECT_EQ(m.problem, ReasonCode::none) << m.text;
    EXPECT_EQ(m.descriptor->backend, "later");
}

TEST(Descriptor, AWordOfTheFilterIsNoNameOfABackend) {
    for (const char* word : {"auto", "discrete", "software", "name", "uuid", "pci", "host"}) {
        Inspection m;
        read_descriptor_json(std::string(R"({"backend":")") + word + "\"}", BP_ABI, 0, m);
        EXPECT_EQ(m.problem, ReasonCode::bad_descriptor) << word;
        EXPECT_NE(m.text.find(word), std::string::npos) << m.text;
    }
    Inspection cpu;
    read_descriptor_json(R"({"backend":"cpu"})", BP_ABI, 0, cpu);
    EXPECT_EQ(cpu.problem, ReasonCode::none) << cpu.text;
}

}  // namespace
}  // namespace backplane::discovery::testing
