// Finding, in real folders: what is looked at, what is refused, what is never looked at.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "base/environment.hpp"
#include "folders.hpp"

namespace backplane::discovery::testing {
namespace {

TEST(Search, AGoodModuleAmongRubbishIsFoundAndTheRubbishExplained) {
    const Folder folder;
    folder.add(library("backplane-good"), module_bytes());
    folder.add(library("backplane-empty"), {});
    folder.add(library("backplane-text"), Bytes(100, std::byte{'x'}));
    folder.add("readme.txt", Bytes(10, std::byte{'x'}));
    folder.add(library("libother"), module_bytes());
    fs::create_directory(folder.path() / library("backplane-folder"));

    const Discovery d = discover_in(folder.path());
    EXPECT_EQ(find(d, "readme.txt"), nullptr);
    EXPECT_EQ(find(d, library("libother")), nullptr);
    EXPECT_EQ(d.rated.size(), 4U);
    EXPECT_EQ(d.rated[0].candidate.path.filename(), library("backplane-good"));
    for (const Rated& r : d.rated) {
        const Candidate& c = r.candidate;
        if (c.path.filename() == library("backplane-good"))
            EXPECT_EQ(c.code, ReasonCode::none) << c.reason;
        else
            EXPECT_FALSE(c.code == ReasonCode::none || c.reason.empty()) << c.path;
    }
    EXPECT_EQ(find(d, library("backplane-empty"))->code, ReasonCode::truncated);
    EXPECT_EQ(find(d, library("backplane-text"))->code, ReasonCode::not_a_module);
    EXPECT_EQ(find(d, library("backplane-folder"))->code, ReasonCode::not_a_module);
}

TEST(Search, TheSameFileTwiceIsOneModule) {
    const Folder folder;
    folder.add(library("backplane-a"), module_bytes());
    fs::create_hard_link(folder.path() / library("backplane-a"), folder.path() / library("backplane-b"));
    const Discovery d = discover_in(folder.path());
    ASSERT_EQ(d.rated.size(), 2U);
    EXPECT_EQ(d.rated[0].candidate.code, ReasonCode::none) << d.rated[0].candidate.reason;
    EXPECT_EQ(find(d, library("backplane-b"))->code, ReasonCode::duplicate);
}

TEST(Search, AFolderThatOthersMayWriteToIsRefused) {
    const Folder folder;
    folder.add(library("backplane-good"), module_bytes());
    test::let_others_write(folder.path());
    const Discovery d = discover_in(folder.path());
    EXPECT_TRUE(d.rated.empty());
    ASSERT_EQ(d.sources.size(), 1U);
    EXPECT_FALSE(d.sources[0].searched);
    EXPECT_NE(d.sources[0].note.find("refused"), std::string::npos);
}

TEST(Search, AFileThatWasNamedIsRefusedForItsFolderAsAnyOtherIs) {
    const Folder folder;
    const fs::path file = folder.add(library("backplane-good"), module_bytes());
    EXPECT_EQ(discover_in(file).rated.at(0).candidate.code, ReasonCode::none);
    test::let_others_write(folder.path());
    const Discovery d = discover_in(file);
    ASSERT_EQ(d.rated.size(), 1U);
    EXPECT_EQ(d.rated[0].candidate.code, ReasonCode::writable_by_others) << d.rated[0].candidate.reason;
}

TEST(Search, APathThatSomebodyNamedAndThatIsNotUsedIsNoted) {
    const Folder folder;
    Discovery d = discover_in(folder.path() / "nope");
    ASSERT_EQ(d.notes.size(), 1U);
    EXPECT_NE(d.notes[0].find("nope"), std::string::npos) << d.notes[0];
    EXPECT_TRUE(discover_in(folder.path()).notes.empty());
    test::set_environment("BACKPLANE_MODULE_PATH", (folder.path() / "typo").string());
    d = discover(ContextOptions(), nullptr, "");
    test::unset_environment("BACKPLANE_MODULE_PATH");
    ASSERT_FALSE(d.notes.empty());
    EXPECT_NE(d.notes[0].find("typo' in BACKPLANE_MODULE_PATH"), std::string::npos) << d.notes[0];
}

TEST(Search, AFolderBelowOneThatOthersMayWriteToIsRefused) {
    const Folder folder;
    const fs::path inner = folder.path() / "inner";
    fs::create_directory(inner);
    write(inner / library("backplane-good"), module_bytes());
    test::let_others_write(folder.path());
    EXPECT_TRUE(discover_in(inner).rated.empty());
}

TEST(Search, AFolderThatIsTrustedDoesNotSpeakForOneBesideIt) {
    const Folder folder;
    ContextOptions options;
    options.search_defaults = false;
    for (const char* place : {"good", "open/inner", "good/inner"}) {
        fs::create_directories(folder.path() / place);
        write(folder.path() / place / library("backplane-x"), module_bytes());
        options.module_paths.push_back(folder.path() / place);
    }
    test::let_others_write(folder.path() / "open");
    const Discovery d = discover(options, nullptr, "");
    ASSERT_EQ(d.rated.size(), 2U);
    for (const Rated& r : d.rated) EXPECT_EQ(r.candidate.path.string().find("open"), std::string::npos);
    EXPECT_NE(d.sources[1].note.find("refused"), std::string::npos) << d.sources[1].note;
    test::let_others_write(folder.path() / "good");
    EXPECT_TRUE(discover(options, nullptr, "").rated.empty());
}

TEST(Search, NothingIsTakenFromTheCurrentDirectory) {
    const Folder folder;
    folder.add(library("backplane-planted"), module_bytes());
    const fs::path before = fs::current_path();
    fs::current_path(folder.path());
    const std::string sep(1, base::list_separator());
    test::set_environment("BACKPLANE_MODULE_PATH", "." + sep + "relative" + sep + sep);
    const Discovery d = discover(ContextOptions{}, nullptr, "");
    test::unset_environment("BACKPLANE_MODULE_PATH");
    fs::current_path(before);
    EXPECT_EQ(find(d, library("backplane-planted")), nullptr);
    int refused = 0;
    for (const Source& s : d.sources) refused += s.note.find("not an absolute path") != std::string::npos ? 1 : 0;
    EXPECT_EQ(refused, 2);
    for (const Source& s : d.sources) EXPECT_TRUE(s.path.is_absolute() || s.note.find("refused") == 0) << s.path << s.note;
}

TEST(Search, TheEnvironmentNamesFoldersUnlessTheApplicationSaysNo) {
    const Folder folder;
    folder.add(library("backplane-env"), module_bytes());
    test::set_environment("BACKPLANE_MODULE_PATH", folder.path().string() + "/");
    EXPECT_NE(find(discover(ContextOptions{}, nullptr, ""), library("backplane-env")), nullptr);
    ContextOptions no;
    no.use_environment = false;
    EXPECT_EQ(find(discover(no, nullptr, ""), library("backplane-env")), nullptr);
    test::unset_environment("BACKPLANE_MODULE_PATH");
}

TEST(Search, AMissingFolderIsSaid) {
    const Discovery d = discover_in("/no/such/folder");
    ASSERT_EQ(d.sources.size(), 1U);
    EXPECT_FALSE(d.sources[0].searched);
    EXPECT_FALSE(d.sources[0].note.empty());
}

TEST(Search, ASidecarSpeaksForAFileWithoutANote) {
    const Folder folder;
    Bytes bytes = module_bytes();
    hide_note(bytes);
    folder.add(library("libforeign"), bytes);
    folder.add(library("libforeign2"), bytes);
    const std::string json = R"({"backend":"foreign","version":"3"})";
    std::ofstream(folder.path() / (library("libforeign") + ".backplane.json")) << json;
    const Discovery d = discover_in(folder.path());
    ASSERT_EQ(d.rated.size(), 1U);
    EXPECT_EQ(d.rated[0].candidate.code, ReasonCode::none) << d.rated[0].candidate.reason;
    EXPECT_EQ(d.rated[0].candidate.descriptor->backend, "foreign");
    test::let_others_write(folder.path() / (library("libforeign") + ".backplane.json"));
    EXPECT_EQ(discover_in(folder.path()).rated[0].candidate.code, ReasonCode::writable_by_others);
}

TEST(Search, ASidecarLeftBesideAnotherFileIsTold) {
    const Folder folder;
    Bytes bytes = module_bytes();
    hide_note(bytes);
    folder.add(library("libforeign"), bytes);
    const fs::path sidecar = folder.path() / (library("libforeign") + ".backplane.json");
    const std::string size = std::to_string(bytes.size());
    auto verdict = [&](const std::string& file) {
        std::ofstream(sidecar) << R"({"backend":"foreign","file":)" << file << "}";
        return discover_in(folder.path()).rated[0].candidate;
    };
    EXPECT_EQ(verdict("{\"size\":" + size + "}").code, ReasonCode::none);
    for (const std::string& file : {std::string("{\"size\":1}"), "{\"size\":" + size + R"(,"build_id":"00ff"})"}) {
        const Candidate c = verdict(file);
        EXPECT_EQ(c.code, ReasonCode::bad_descriptor) << file;
        EXPECT_NE(c.reason.find("was written for another file"), std::string::npos) << c.reason;
    }
    for (const char* file : {"[]", "{\"size\":-1}", "{\"size\":\"9\"}", "{\"build_id\":7}"})
        EXPECT_EQ(verdict(file).code, ReasonCode::bad_descriptor) << file;
}

TEST(Search, AModuleOfAnotherInterfaceIsNoneOfOursAndNeverLoaded) {
    const Folder folder;
    Bytes bytes = module_bytes();
    hide_note(bytes);
    folder.add(library("libother"), bytes);
    std::ofstream(folder.path() / (library("libother") + ".backplane.json"))
        << R"({"interface":"other","kind":"cpu","backend":7,"score":3})";
    const Candidate c = discover_in(folder.path()).rated[0].candidate;
    EXPECT_EQ(c.code, ReasonCode::not_a_module);
    EXPECT_EQ(c.reason, "a module of other: backends that know it use it");
    EXPECT_EQ(c.descriptor->interface_name, "other");
}

TEST(Search, EarlierSourcesGoFirst) {
    const Folder one;
    const Folder two;
    Bytes bytes = module_bytes();
    one.add(library("backplane-a"), bytes);
    bytes.push_back(std::byte{0});  // another file: neither the same inode nor, with its note changed, the same build
    const size_t note = note_of(bytes);
    const std::string text(reinterpret_cast<const char*>(bytes.data()) + note, 400);
    const size_t version = text.find("1.0.0");
    ASSERT_NE(version, std::string::npos);
    bytes[note + version] = std::byte{'9'};  // newer
    two.add(library("backplane-a"), bytes);
    ContextOptions options = only(one.path());
    options.module_paths.push_back(two.path());
    const Discovery d = discover(options, nullptr, "");
    ASSERT_EQ(d.rated.size(), 2U);
    EXPECT_EQ(d.rated[0].candidate.path.parent_path(), fs::canonical(one.path()));
    options.module_paths = {two.path(), one.path()};
    EXPECT_EQ(discover(options, nullptr, "").rated[0].candidate.path.parent_path(), fs::canonical(two.path()));
}

}  // namespace
}  // namespace backplane::discovery::testing
