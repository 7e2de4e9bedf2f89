#include <gtest/gtest.h>

#include "backplane/note.h"
#include "discovery/judge.hpp"
#include "files.hpp"

namespace backplane::discovery::testing {
namespace {

Inspection module_with(const std::string& json, uint32_t flags = 0) {
    Inspection m;
    m.path = "/modules/backplane-x.so";
    read_descriptor_json(json, BP_ABI, flags, m);
    return m;
}

Host host_with(const base::CpuFeatures& cpu) { return {UsableFeatures(cpu), host_binary(), false}; }

TEST(Judge, AMissingCpuFeatureIsNamed) {
    const Inspection m = module_with(R"({"backend":"x","cpu":["avx2","fma","amx_tile"]})");
    const Judgement j = judge(m, host_with({"avx2"}));
    EXPECT_EQ(j.code, ReasonCode::cpu_feature_missing);
    EXPECT_NE(j.reason.find("fma, amx_tile"), std::string::npos) << j.reason;
    EXPECT_EQ(judge(m, host_with({"avx2", "fma", "amx_tile"})).code, ReasonCode::none);
}

TEST(Judge, AMissingLibraryIsNamed) {
    Inspection m = module_with(R"({"backend":"x","needs":["libsurely-not-there.so.77"]})");
    Judgement j = judge(m, host_with({}));
    EXPECT_EQ(j.code, ReasonCode::library_missing);
    EXPECT_NE(j.reason.find("libsurely-not-there.so.77"), std::string::npos) << j.reason;
    m = module_with(R"({"backend":"x","needs":[{"soname":"libsurely-not-there.so.77","priority":"suggested"}]})");
    EXPECT_EQ(judge(m, host_with({})).code, ReasonCode::none);
    m = module_with(R"({"backend":"x"})");
    m.binary.needed = {test::system_library(), "libgone.so.3"};
    j = judge(m, host_with({}));
    EXPECT_EQ(j.code, ReasonCode::library_missing);
    EXPECT_EQ(j.reason.find(test::system_library()), std::string::npos) << j.reason;
}

// As drivers are installed: libdriver.so.1 leads to libdriver.so.580.65.06.
TEST(Judge, ALibraryWhoseFileSaysThatItIsTooOldIsNamedWithBothVersions) {
    const Folder folder;
    Inspection m;
    const auto judged = [&](const std::string& least) {
        m = module_with(R"({"backend":"x","needs":[{"soname":"libdriver.so.1","priority":"required","least":")" + least +
                        "\"}]}");
        m.binary.run_paths = {folder.path()};
        return judge(m, host_with({}));
    };
    EXPECT_EQ(judged("2.0").code, ReasonCode::library_missing);
    const fs::path file = folder.add("libdriver.so.580.65.06", module_bytes());
    const fs::path link = folder.path() / "libdriver.so.1";
    const auto installed_as = [&](const fs::path& target) {
        fs::remove(link);
        std::error_code failed;
        fs::create_symlink(target, link, failed);
        return !failed;
    };
    if (!installed_as(file)) GTEST_SKIP() << "no symbolic links here";
    for (const char* enough : {"", "1", "580.65", "580.65.06", "580.9", "580.65.6"})
        EXPECT_EQ(judged(enough).code, ReasonCode::none) << enough;
    for (const char* more : {"580.65.07", "580.66", "580.100", "581", "1000"}) {
        const Judgement j = judged(more);
        EXPECT_EQ(j.code, ReasonCode::library_too_old) << more;
        EXPECT_NE(j.reason.find(std::string("libdriver.so.1 of version ") + more), std::string::npos) << j.reason;
        EXPECT_NE(j.reason.find("580.65.06"), std::string::npos) << j.reason;
        EXPECT_FALSE(j.remedy.empty());
    }
    // What does not say is not judged: a copy under the name itself, another name, a name without a version.
    for (const char* name : {"other.so.1.0.0", "libdriver.so", "libdriver.so.1x.2", "libdriver.so.7"}) {
        ASSERT_TRUE(installed_as(folder.add(name, module_bytes())));
        EXPECT_EQ(judged("1000").code, ReasonCode::none) << name;
    }
    fs::remove(link);
    folder.add("libdriver.so.1", module_bytes());
    EXPECT_EQ(judged("1000").code, ReasonCode::none);
    m.descriptor->needs[0].priority = "suggested";
    ASSERT_TRUE(installed_as(file));
    EXPECT_EQ(judge(m, host_with({})).code, ReasonCode::none) << "what it can do without";
}

TEST(Judge, AnotherMachineIsNamed) {
    Inspection m = module_with(R"({"backend":"x"})");
    m.binary = host_binary();
    m.binary.machine = host_binary().machine == 62 ? 183 : 62;
    const Judgement j = judge(m, host_with({}));
    EXPECT_EQ(j.code, ReasonCode::wrong_architecture);
    EXPECT_NE(j.reason.find(name_of_machine(m.binary)), std::string::npos) << j.reason;
}

TEST(Judge, ASanitizersModuleNeedsASanitizersHost) {
    const Inspection m = module_with(R"({"backend":"x"})", BP_NOTE_SANITIZER);
    EXPECT_EQ(judge(m, host_with({})).code, ReasonCode::sanitizer_mismatch);
    Host host = host_with({});
    host.sanitizer = true;
    EXPECT_EQ(judge(m, host).code, ReasonCode::none);
}

TEST(Judge, AFileThatOthersMayWriteIsRefused) {
    const Folder folder;
    const fs::path file = folder.add(library("backplane-minimal"), module_bytes());
    test::let_others_write(file);
    const Judgement j = judge(inspect(file), this_host(""));
    EXPECT_EQ(j.code, ReasonCode::writable_by_others) << j.reason;
    EXPECT_EQ(j.remedy, base::how_to_protect(file));
}

TEST(Judge, AMaskTakesWhatDependsOnItToo) {
    const base::CpuFeatures all{"sse2", "avx", "avx2", "fma", "avx512f", "avx512vl", "amx_tile", "amx_int8"};
    EXPECT_EQ(base::without(all, "avx512f"), (base::CpuFeatures{"sse2", "avx", "avx2", "fma", "amx_tile", "amx_int8"}));
    EXPECT_EQ(base::without(all, "avx amx_tile"), (base::CpuFeatures{"sse2"}));
    EXPECT_EQ(base::without(all, ""), all);
}

TEST(CpuMask, EveryFeatureOfThisMachineIsAKnownName) {
    const std::vector<std::string> known = base::known_cpu_features();
    for (const std::string& feature : base::detect_cpu_features())
        EXPECT_NE(std::find(known.begin(), known.end(), feature), known.end()) << feature;
}

TEST(Rank, TheStrongerInstructionSetGoesFirstThenPriorityThenVersion) {
    const auto make = [](const char* cpu, int priority, const char* version, const char* path) {
        Inspection m = module_with(std::string(R"({"backend":"x","cpu":[)") + cpu +
                                   "],\"priority\":" + std::to_string(priority) + ",\"version\":\"" + version + "\"}");
        m.path = path;
        return m;
    };
    const std::vector<Inspection> best_first{
        make(R"("amx_int8","avx512f")", 0, "1.0", "a"),
        make(R"("avx512f","avx512_vnni")", 0, "1.0", "a"),
        make(R"("avx512f")", 0, "1.0", "a"),
        make(R"("avx2")", 9, "1.0", "a"),
        make(R"("avx2")", 0, "1.10", "a"),
        make(R"("avx2")", 0, "1.9", "a"),
        make(R"("avx2")", 0, "1.9", "b"),
        make(R"("unheard-of")", 0, "1", "a"),
    };
    for (size_t i = 0; i < best_first.size(); ++i)
        for (size_t k = 0; k < best_first.size(); ++k) {
            const int order = compare(best_first[i], best_first[k]);
            EXPECT_EQ(i < k, order < 0) << i << ' ' << k;
            EXPECT_EQ(i > k, order > 0) << i << ' ' << k;
        }
}

}  // namespace
}  // namespace backplane::discovery::testing
