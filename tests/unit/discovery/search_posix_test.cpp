// Pipes, links and owners, as POSIX systems have them.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "folders.hpp"

namespace backplane::discovery::testing {
namespace {

TEST(Search, PipesLoopsAndHugeFilesAreExplainedAndNeverWaitedFor) {
    const Folder folder;
    folder.add("backplane-good.so", module_bytes());
    ::mkfifo((folder.path() / "backplane-fifo.so").c_str(), 0600);
    fs::create_symlink("backplane-loop.so", folder.path() / "backplane-loop.so");
    fs::create_symlink("/nowhere/at-all.so", folder.path() / "backplane-dangling.so");
    { std::ofstream sparse(folder.path() / "backplane-sparse.so"); }
    fs::resize_file(folder.path() / "backplane-sparse.so", uint64_t{1} << 40);
    const Discovery d = discover_in(folder.path());
    ASSERT_EQ(d.rated.size(), 5U);
    EXPECT_EQ(d.rated[0].candidate.path.filename(), "backplane-good.so");
    EXPECT_EQ(d.rated[0].candidate.code, ReasonCode::none) << d.rated[0].candidate.reason;
    EXPECT_EQ(find(d, "backplane-fifo.so")->code, ReasonCode::not_a_module);
    EXPECT_EQ(find(d, "backplane-sparse.so")->code, ReasonCode::not_a_module);
    EXPECT_EQ(find(d, "backplane-dangling.so")->code, ReasonCode::unreadable);
    EXPECT_EQ(find(d, "backplane-loop.so")->code, ReasonCode::unreadable);
    for (size_t i = 1; i < d.rated.size(); ++i) EXPECT_FALSE(d.rated[i].candidate.reason.empty());
}

TEST(Search, ALinkToAModuleIsNotASecondModule) {
    const Folder folder;
    folder.add("backplane-a.so", module_bytes());
    fs::create_symlink("backplane-a.so", folder.path() / "backplane-c.so");
    const Discovery d = discover_in(folder.path());
    ASSERT_EQ(d.rated.size(), 2U);
    EXPECT_EQ(find(d, "backplane-c.so")->code, ReasonCode::duplicate);
}

TEST(Search, AFolderOrFileThatAForeignGroupMayChangeIsNotedAndUsed) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file to another group";
    const Folder folder;
    const fs::path file = folder.add("backplane-a.so", module_bytes());
    ASSERT_EQ(::chown(file.c_str(), 0, 54321), 0);
    ASSERT_EQ(::chmod(file.c_str(), 0664), 0);
    ASSERT_EQ(::chown(folder.path().c_str(), 0, 54321), 0);
    ASSERT_EQ(::chmod(folder.path().c_str(), 0775), 0);
    const Discovery d = discover_in(folder.path());
    EXPECT_EQ(find(d, "backplane-a.so")->code, ReasonCode::none);
    ASSERT_EQ(d.notes.size(), 2U);
    for (const std::string& note : d.notes) EXPECT_NE(note.find("group 54321"), std::string::npos) << note;
}

TEST(Judge, AFileOfAnotherUserIsRefused) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file to another user";
    const Folder folder;
    const fs::path file = folder.add("backplane-minimal.so", module_bytes());
    ASSERT_EQ(::chown(file.c_str(), 54321, 54321), 0);
    const Judgement j = judge(inspect(file), this_host(""));
    EXPECT_EQ(j.code, ReasonCode::wrong_owner);
    EXPECT_NE(j.reason.find("54321"), std::string::npos) << j.reason;
}

}  // namespace
}  // namespace backplane::discovery::testing
