// A verdict holds for what was read when it was made: any change of that gives another key, and nothing else does.
#include "discovery/trial_key.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/dynamic_library.hpp"
#include "base/environment.hpp"
#include "base/file.hpp"
#include "registry/verdict_store.hpp"
#include "support/system.hpp"

namespace backplane::registry {
namespace {

namespace fs = std::filesystem;

class TrialKey : public ::testing::Test {
protected:
    TrialKey() : folder_(fs::canonical(test::make_temporary_folder())) { module("x"); }
    ~TrialKey() override {
        test::unset_environment("BP_TEST_WATCHED");
        test::unset_environment("BP_TEST_OTHER");
        test::unset_environment("BP_TEST_SWITCH");
        std::error_code ignored;
        fs::remove_all(folder_, ignored);
    }
    [[nodiscard]] fs::path at(const std::string& name) const { return folder_ / name; }
    fs::path write(const std::string& name, const std::string& text) const {
        fs::create_directories(at(name).parent_path());
        std::ofstream(at(name), std::ios::binary) << text;
        return at(name);
    }
    // Another content of the same size in the same file, with the times that it had: only the time of change tells.
    static void edit_in_place(const fs::path& file) {
        const fs::file_time_type time = fs::last_write_time(file);
        std::fstream stream(file, std::ios::binary | std::ios::in | std::ios::out);
        const int first = stream.get();
        stream.seekp(0);
        stream.put(static_cast<char>(first ^ 1));
        stream.close();
        fs::last_write_time(file, time);
    }
    void module(const std::string& text) {
        m_.path = write("backplane-x.so", text);
        m_.descriptor.emplace();
        m_.descriptor->json = "{}";
    }
    [[nodiscard]] std::string key() {
        m_.status = base::status_of(m_.path);
        return VerdictStore::key_of(m_, "");
    }
    // That what is done gives another key, which then stays.
    template <typename Change>
    void expect_another(const char* what, Change change) {
        const std::string before = key();
        EXPECT_EQ(before, key()) << "nothing changed before: " << what;
        change();
        EXPECT_NE(before, key()) << what;
    }
    template <typename Change>
    void expect_the_same(const char* what, Change change) {
        const std::string before = key();
        change();
        EXPECT_EQ(before, key()) << what;
    }

    fs::path folder_;
    discovery::Inspection m_;
};

TEST_F(TrialKey, OtherContentOfTheSameSizeAndTimeIsAnotherFile) {
    expect_another("content", [&] { edit_in_place(m_.path); });
    if (base::list_separator() == ':')  // Windows has no such rights
        expect_another("rights", [&] { fs::permissions(m_.path, fs::perms::owner_all); });
    expect_another("replaced", [&] {
        write("new", "x");
        fs::rename(at("new"), m_.path);
    });
    EXPECT_NE(VerdictStore::key_of(m_, ""), VerdictStore::key_of(m_, "cpu.threads=4\n"));
}

TEST_F(TrialKey, FilesAndFoldersThatAreWatchedCountByWhatIsInThem) {
    const fs::path manifest = write("etc/layers.d/one.json", "{}");
    m_.descriptor->watch_files = {at("etc").string(), at("later").string()};
    expect_another("a file two levels deep is edited in place", [&] { edit_in_place(manifest); });
    expect_another("one more", [&] { write("etc/layers.d/two.json", "{}"); });
    expect_another("one less", [&] { fs::remove(manifest); });
    expect_another("the folder appears", [&] { fs::create_directory(at("later")); });
    expect_the_same("elsewhere", [&] { write("other/three.json", "{}"); });
    expect_the_same("something came and went", [&] { fs::remove(write("etc/layers.d/gone.json", "{}")); });
}

TEST_F(TrialKey, VariablesCountByTheirValueAndByWhatTheyPointTo) {
    const fs::path driver = write("icd/one.json", "{}");
    const std::string separator(1, base::list_separator());
    m_.descriptor->watch_env = {"BP_TEST_WATCHED"};
    expect_another("it is set", [&] { test::set_environment("BP_TEST_WATCHED", driver.string()); });
    expect_another("the file that it names is edited in place", [&] { edit_in_place(driver); });
    expect_another("a list", [&] {
        test::set_environment("BP_TEST_WATCHED", at("none.json").string() + separator + at("icd").string());
    });
    expect_another("a file in the folder that it names is edited", [&] { edit_in_place(driver); });
    expect_another("one more in that folder", [&] { write("icd/two.icd", "x"); });
    expect_another("the file that was missing is there", [&] { write("none.json", "{}"); });
    expect_the_same("a program writes its own files to that folder", [&] { write("icd/program.log", "x"); });
}

TEST_F(TrialKey, WhatManifestsNameCountsToo) {
    const std::string name = test::library("driver");
    const fs::path beside = write("icd/" + name, "x"), elsewhere = write("lib/" + name, "x");
    write("icd/a.json",
          "{\"ICD\": {\"library_path\": \"./" + name + "\"}, \"enable_environment\": {\"BP_TEST_SWITCH\": \"1\"}}");
    write("icd/b.icd", elsewhere.generic_string() + "\n");
    m_.descriptor->watch_files = {at("icd").string()};
    expect_another("the driver beside its manifest", [&] { edit_in_place(beside); });
    expect_another("the driver that another names by its whole path", [&] { edit_in_place(elsewhere); });
    expect_another("the switch of a layer", [&] { test::set_environment("BP_TEST_SWITCH", "1"); });
}

TEST_F(TrialKey, LibrariesThatTheModuleNeedsCountAsTheLoaderFindsThem) {
    const std::string name = test::library("bp-test-needed");
    m_.binary.needed = {name};
    m_.binary.run_paths = {at("first"), at("second")};
    expect_another("it is installed", [&] { write("second/" + name, "x"); });
    expect_another("it is changed", [&] { edit_in_place(at("second") / name); });
    expect_another("one that goes before it", [&] { write("first/" + name, "x"); });
    m_.binary.needed.clear();
    m_.descriptor->needs = {{name, "recommended"}};
    expect_another("one that it opens later", [&] { edit_in_place(at("first") / name); });
}

#ifdef BP_TEST_CHAIN
TEST_F(TrialKey, WhatItsLibrariesNeedCountsToo) {
    for (const char* name : {"outer", "middle", "inner"})
        fs::copy_file(fs::path(BP_TEST_CHAIN) / test::library(std::string("lib") + name),
                      at(test::library(std::string("lib") + name)));
    m_ = discovery::inspect(at(test::library("libouter")));
    m_.descriptor.emplace();
    ASSERT_FALSE(m_.binary.needed.empty());
    expect_another("the library of the library", [&] { edit_in_place(at(test::library("libinner"))); });
}
#endif

TEST_F(TrialKey, NamesOfWatchedFilesMayHaveVariablesAndTheHome) {
    const std::string a = at("a").string(), b = at("b").string(), separator(1, base::list_separator());
    EXPECT_EQ(discovery::watched_files(a), (std::vector<fs::path>{a}));
    EXPECT_TRUE(discovery::watched_files("$BP_TEST_OTHER/x").empty());
    EXPECT_TRUE(discovery::watched_files("relative/x").empty());
    // What stands for a variable is written once for all systems, with colons between: no letters of drives.
    const bool colons = separator == ":";
    if (colons) {
        EXPECT_EQ(discovery::watched_files("${BP_TEST_OTHER:-" + a + "}/x"), (std::vector<fs::path>{a + "/x"}));
    }
    test::set_environment("BP_TEST_OTHER", a + separator + b);
    for (const char* item : {"$BP_TEST_OTHER/x", "${BP_TEST_OTHER}/x", "${BP_TEST_OTHER:-~/y}/x"})
        EXPECT_EQ(discovery::watched_files(item), (std::vector<fs::path>{a + "/x", b + "/x"})) << item;
    test::set_environment("HOME", a);
    EXPECT_EQ(discovery::watched_files("~/x"), (std::vector<fs::path>{a + "/x"}));
    test::unset_environment("BP_TEST_OTHER");
    if (colons) {
        EXPECT_EQ(discovery::watched_files("${BP_TEST_OTHER:-~/y:" + b + "}/x"),
                  (std::vector<fs::path>{a + "/y/x", b + "/x"}));
    }
    for (const char* odd : {"$", "${", "${}", "${BP_TEST_OTHER", "${BP_TEST_OTHER:-", "~", "~other/x", ""})
        EXPECT_TRUE(discovery::watched_files(odd).empty()) << odd;
}

}  // namespace
}  // namespace backplane::registry
