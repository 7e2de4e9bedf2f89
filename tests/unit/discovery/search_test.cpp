// Finding, in real folders: what is looked at, what is refused, what is never looked at.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "discovery/discover.hpp"
#include "files.hpp"

namespace backplane::discovery::testing {
namespace {

ContextOptions only(const fs::path& path) {
    ContextOptions options;
    options.module_paths = {path};
    options.search_defaults = false;
    return options;
}

Discovery discover_in(const fs::path& path) { return discover(only(path), nullptr, ""); }

const Candidate* find(const Discovery& d, const std::string& name) {
    for (const Rated& r : d.rated)
        if (r.candidate.path.filename() == name) return &r.candidate;
    return nullptr;
}

TEST(Search, AGoodModuleAmongRubbishIsFoundAndTheRubbishExplained) {
    const Folder folder;
    folder.add("backplane-good.so", module_bytes());
    folder.add("backplane-empty.so", {});
    folder.add("backplane-text.so", Bytes(100, std::byte{'x'}));
    folder.add("readme.txt", Bytes(10, std::byte{'x'}));
    folder.add("libother.so", module_bytes());
    ::mkfifo((folder.path() / "backplane-fifo.so").c_str(), 0600);
    fs::create_directory(folder.path() / "backplane-folder.so");
    fs::create_symlink("backplane-loop.so", folder.path() / "backplane-loop.so");
    fs::create_symlink("/nowhere/at-all.so", folder.path() / "backplane-dangling.so");
    { std::ofstream sparse(folder.path() / "backplane-sparse.so"); }
    fs::resize_file(folder.path() / "backplane-sparse.so", uint64_t{1} << 40);

    const Discovery d = discover_in(folder.path());
    EXPECT_EQ(find(d, "readme.txt"), nullptr);
    EXPECT_EQ(find(d, "libother.so"), nullptr);
    EXPECT_EQ(d.rated.size(), 8U);
    EXPECT_EQ(d.rated[0].candidate.path.filename(), "backplane-good.so");
    for (const Rated& r : d.rated) {
        const Candidate& c = r.candidate;
        if (c.path.filename() == "backplane-good.so")
            EXPECT_EQ(c.code, ReasonCode::none) << c.reason;
        else
            EXPECT_FALSE(c.code == ReasonCode::none || c.reason.empty()) << c.path;
    }
    EXPECT_EQ(find(d, "backplane-empty.so")->code, ReasonCode::truncated);
    EXPECT_EQ(find(d, "backplane-text.so")->code, ReasonCode::not_a_module);
    EXPECT_EQ(find(d, "backplane-fifo.so")->code, ReasonCode::not_a_module);
    EXPECT_EQ(find(d, "backplane-sparse.so")->code, ReasonCode::not_a_module);
    EXPECT_EQ(find(d, "backplane-dangling.so")->code, ReasonCode::unreadable);
}

TEST(Search, TheSameFileTwiceIsOneModule) {
    const Folder folder;
    folder.add("backplane-a.so", module_bytes());
    fs::create_hard_link(folder.path() / "backplane-a.so", folder.path() / "backplane-b.so");
    fs::create_symlink("backplane-a.so", folder.path() / "backplane-c.so");
    const Discovery d = discover_in(folder.path());
    ASSERT_EQ(d.rated.size(), 3U);
    EXPECT_EQ(d.rated[0].candidate.code, ReasonCode::none);
    EXPECT_EQ(find(d, "backplane-b.so")->code, ReasonCode::duplicate);
    EXPECT_EQ(find(d, "backplane-c.so")->code, ReasonCode::duplicate);
}

TEST(Search, AFolderThatOthersMayWriteToIsRefused) {
    const Folder folder;
    folder.add("backplane-good.so", module_bytes());
    ::chmod(folder.path().c_str(), 0777);
    const Discovery d = discover_in(folder.path());
    EXPECT_TRUE(d.rated.empty());
    ASSERT_EQ(d.sources.size(), 1U);
    EXPECT_FALSE(d.sources[0].searched);
    EXPECT_NE(d.sources[0].note.find("refused"), std::string::npos);
}

TEST(Search, AFolderBelowOneThatOthersMayWriteToIsRefused) {
    const Folder folder;
    const fs::path inner = folder.path() / "inner";
    fs::create_directory(inner);
    write(inner / "backplane-good.so", module_bytes());
    ::chmod(folder.path().c_str(), 0777);
    EXPECT_TRUE(discover_in(inner).rated.empty());
}

TEST(Search, NothingIsTakenFromTheCurrentDirectory) {
    const Folder folder;
    folder.add("backplane-planted.so", module_bytes());
    const fs::path before = fs::current_path();
    fs::current_path(folder.path());
    ::setenv("BACKPLANE_MODULE_PATH", ".:relative::", 1);
    const Discovery d = discover(ContextOptions{}, nullptr, "");
    ::unsetenv("BACKPLANE_MODULE_PATH");
    fs::current_path(before);
    EXPECT_EQ(find(d, "backplane-planted.so"), nullptr);
    int refused = 0;
    for (const Source& s : d.sources) refused += s.note.find("not an absolute path") != std::string::npos ? 1 : 0;
    EXPECT_EQ(refused, 2);
}

TEST(Search, TheEnvironmentNamesFoldersUnlessTheApplicationSaysNo) {
    const Folder folder;
    folder.add("backplane-env.so", module_bytes());
    ::setenv("BACKPLANE_MODULE_PATH", (folder.path().string() + "/").c_str(), 1);
    EXPECT_NE(find(discover(ContextOptions{}, nullptr, ""), "backplane-env.so"), nullptr);
    ContextOptions no;
    no.use_environment = false;
    EXPECT_EQ(find(discover(no, nullptr, ""), "backplane-env.so"), nullptr);
    ::unsetenv("BACKPLANE_MODULE_PATH");
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
    std::memcpy(bytes.data() + note_of(bytes) - 12, "Somebody\0", 9);  // no longer our note
    folder.add("libforeign.so", bytes);
    folder.add("libforeign2.so", bytes);
    const std::string json = R"({"backend":"foreign","version":"3"})";
    std::ofstream(folder.path() / "libforeign.so.backplane.json") << json;
    const Discovery d = discover_in(folder.path());
    ASSERT_EQ(d.rated.size(), 1U);
    EXPECT_EQ(d.rated[0].candidate.code, ReasonCode::none) << d.rated[0].candidate.reason;
    EXPECT_EQ(d.rated[0].candidate.descriptor->backend, "foreign");
    ::chmod((folder.path() / "libforeign.so.backplane.json").c_str(), 0666);
    EXPECT_EQ(discover_in(folder.path()).rated[0].candidate.code, ReasonCode::writable_by_others);
}

TEST(Search, EarlierSourcesGoFirst) {
    const Folder one;
    const Folder two;
    Bytes bytes = module_bytes();
    one.add("backplane-a.so", bytes);
    bytes.push_back(std::byte{0});  // another file: neither the same inode nor, with its note changed, the same build
    const size_t note = note_of(bytes);
    const std::string text(reinterpret_cast<const char*>(bytes.data()) + note, 400);
    const size_t version = text.find("1.0.0");
    ASSERT_NE(version, std::string::npos);
    bytes[note + version] = std::byte{'9'};  // newer
    two.add("backplane-a.so", bytes);
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
