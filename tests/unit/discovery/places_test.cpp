// Where modules are looked for around a library or program, by the layout it is part of; paths as packagers and users write them.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/environment.hpp"
#include "discovery/sources.hpp"
#include "folders.hpp"

namespace backplane::discovery::testing {
namespace {

bool among(const std::vector<fs::path>& places, const fs::path& place) {
    return std::find(places.begin(), places.end(), place) != places.end();
}

TEST(Places, BesideTheFileFirstThenItsOwnFolder) {
    const fs::path root = fs::temp_directory_path().root_path() / "nowhere";
    const std::vector<fs::path> expected{root / "app" / "backplane", root / "app"};
    EXPECT_EQ(places_around(root / "app" / "program"), expected);
}

TEST(Places, AProgramInBinHasItsModulesInLib) {
    const fs::path root = fs::temp_directory_path().root_path() / "nowhere";
    EXPECT_TRUE(among(places_around(root / "bin" / "program"), root / "lib" / "backplane"));
    EXPECT_FALSE(among(places_around(root / "lib" / "libacme"), root / "lib" / "lib" / "backplane"));
}

TEST(Places, ABundleHasItsModulesInPlugInsOrFrameworks) {
    const fs::path contents = fs::temp_directory_path().root_path() / "Acme.app" / "Contents";
    for (const char* folder : {"MacOS", "Frameworks"}) {
        const auto places = places_around(contents / folder / "file");
        EXPECT_TRUE(among(places, contents / "PlugIns" / "backplane")) << folder;
        EXPECT_TRUE(among(places, contents / "Frameworks" / "backplane")) << folder;
    }
}

TEST(Places, ARepairedWheelHasLibraryAndModulesInNeighbouringFolders) {
    const Folder folder;
    EXPECT_TRUE(
        among(places_around(folder.path() / "acme.libs" / "libbackplane-1234.so"), folder.path() / "acme" / "backplane"));
    EXPECT_FALSE(among(places_around(folder.path() / "acme" / "_native.so"), folder.path() / "acme.libs"));
    fs::create_directory(folder.path() / "acme.libs");
    const auto places = places_around(folder.path() / "acme" / "_native.so");
    EXPECT_TRUE(among(places, folder.path() / "acme.libs"));
    EXPECT_TRUE(among(places, folder.path() / "acme.libs" / "backplane"));
}

TEST(Search, SlashesAndDotsInAPathAreNoObstacle) {
    const Folder folder;
    fs::create_directory(folder.path() / "inner");
    folder.add(library("backplane-good"), module_bytes());
    for (const fs::path& path :
         {folder.path() / "", folder.path() / "inner" / "..", folder.path() / "." / "inner" / ".." / ""}) {
        const Discovery d = discover_in(path);
        ASSERT_EQ(d.rated.size(), 1U) << path;
        EXPECT_EQ(d.rated[0].candidate.code, ReasonCode::none) << path << d.rated[0].candidate.reason;
        EXPECT_EQ(d.rated[0].candidate.path, fs::canonical(folder.path()) / library("backplane-good"));
        EXPECT_EQ(d.sources[0].path, path) << "the report has it as it was given";
    }
}

TEST(Search, AFolderByTwoWaysOfWritingItIsSearchedOnce) {
    const Folder folder;
    folder.add(library("backplane-good"), module_bytes());
    ContextOptions options = only(folder.path());
    options.module_paths.push_back(folder.path() / ".");
    const Discovery d = discover(options, nullptr, "");
    EXPECT_EQ(d.rated.size(), 1U);
    EXPECT_EQ(d.sources[1].note, "searched already");
}

TEST(Search, ARelativePathOfTheApplicationIsItsOwnAffairAndBecomesAbsolute) {
    const Folder folder;
    fs::create_directory(folder.path() / "inner");
    write(folder.path() / "inner" / library("backplane-good"), module_bytes());
    const fs::path before = fs::current_path();
    fs::current_path(folder.path());
    const Discovery d = discover_in("inner");
    fs::current_path(before);
    ASSERT_EQ(d.rated.size(), 1U);
    EXPECT_TRUE(d.rated[0].candidate.path.is_absolute());
}

TEST(Search, EmptyItemsAndATrailingSeparatorOfTheEnvironmentAreNothing) {
    const Folder folder;
    folder.add(library("backplane-env"), module_bytes());
    const std::string sep(1, base::list_separator());
    test::set_environment("BACKPLANE_MODULE_PATH", sep + sep + (folder.path() / "").string() + sep + sep);
    const Discovery d = discover(ContextOptions{}, nullptr, "");
    test::unset_environment("BACKPLANE_MODULE_PATH");
    EXPECT_NE(find(d, library("backplane-env")), nullptr);
    EXPECT_EQ(
        std::count_if(d.sources.begin(), d.sources.end(), [](const Source& s) { return s.kind == SourceKind::environment; }),
        1);
}

TEST(Search, ANameThatIsAPathOrNoLibraryIsRefused) {
    ContextOptions options;
    options.search_defaults = false;
    options.module_names = {"../" + library("libplanted"), "libplanted.txt", ""};
    const Discovery d = discover(options, nullptr, "");
    EXPECT_TRUE(d.rated.empty());
    ASSERT_EQ(d.sources.size(), 3U);
    for (const Source& s : d.sources) EXPECT_EQ(s.note.find("refused"), 0U) << s.note;
}

TEST(Search, ANameThatAFolderHasIsNotLookedForAgain) {
    const Folder folder;
    folder.add(library("backplane-good"), module_bytes());
    ContextOptions options = only(folder.path());
    options.module_names = {library("backplane-good")};
    const Discovery d = discover(options, nullptr, "");
    EXPECT_EQ(d.rated.size(), 1U);
    EXPECT_EQ(d.sources[1].note.find("found in"), 0U) << d.sources[1].note;
}

TEST(Search, ANameThatNobodyHasIsRejectedInTheLoadersWords) {
    ContextOptions options;
    options.search_defaults = false;
    options.module_names = {library("libacme-backplane-nowhere")};
    const Discovery d = discover(options, nullptr, "");
    ASSERT_EQ(d.rated.size(), 1U);
    EXPECT_EQ(d.rated[0].candidate.code, ReasonCode::load_failed);
    EXPECT_NE(d.rated[0].candidate.reason.find("would not load"), std::string::npos) << d.rated[0].candidate.reason;
}

}  // namespace
}  // namespace backplane::discovery::testing
