// Links, permissions and full disks, as POSIX systems have them.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>

#include "backplane/error.hpp"
#include "base/replacing_file.hpp"
#include "base/user_folder.hpp"
#include "folder.hpp"

namespace backplane::base::testing {
namespace {

void replace_with(const fs::path& path, std::string_view text, ReplacingOptions options = {}) {
    ReplacingFile file(path, options);
    file.write(bytes_of(text));
    file.commit();
}

unsigned mode_of(const fs::path& path) { return static_cast<unsigned>(fs::status(path).permissions()); }

TEST(ReplacingFilePosix, ALinkIsFollowedUnlessItIsToBeReplaced) {
    const Folder folder;
    fs::create_directory(folder / "inner");
    fs::create_symlink("inner/real", folder / "link");
    for (const char* text : {"through a link to nothing", "to a file"}) {
        replace_with(folder / "link", text);
        EXPECT_TRUE(fs::is_symlink(folder / "link"));
        EXPECT_EQ(text_in(folder / "inner" / "real"), text);
    }
    replace_with(folder / "link", "in its place", {.follow_links = false});
    EXPECT_FALSE(fs::is_symlink(folder / "link"));
    EXPECT_EQ(text_in(folder / "link"), "in its place");
    EXPECT_EQ(text_in(folder / "inner" / "real"), "to a file");
    fs::create_symlink("b", folder / "a");
    fs::create_symlink("a", folder / "b");
    EXPECT_THROW(ReplacingFile(folder / "a"), Error);
    ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
    EXPECT_THROW(ReplacingFile(folder / "pipe"), Error);
}

TEST(ReplacingFilePosix, PermissionsAreKeptAndNewOnesAreTheUmasksOrTheUsersAlone) {
    const Folder folder;
    const mode_t before = ::umask(027);
    replace_with(folder / "new", "x");
    replace_with(folder / "private", "x", {.only_mine = true});
    EXPECT_EQ(write_whole_file(folder / "small" / "file", "x"), "");
    ::umask(before);
    EXPECT_EQ(mode_of(folder / "new"), 0640U);
    EXPECT_EQ(mode_of(folder / "private"), 0600U);
    EXPECT_EQ(mode_of(folder / "small"), 0700U);
    EXPECT_EQ(mode_of(folder / "small" / "file"), 0600U);
    for (const unsigned mode : {0600U, 0664U, 0755U}) {
        ASSERT_EQ(::chmod((folder / "new").c_str(), mode), 0);
        ReplacingFile file(folder / "new");
        file.write(bytes_of("y"));
        for (const auto& entry : fs::directory_iterator(folder.path())) {
            if (entry.path().extension() != ".partial") continue;
            EXPECT_EQ(mode_of(entry.path()), mode) << "from the first byte on";
        }
        file.commit();
        EXPECT_EQ(mode_of(folder / "new"), mode);
    }
}

TEST(ReplacingFilePosix, AFullDiskIsSaidOnceAndForAllAndLeavesTheOldFile) {
    const Folder folder;
    const fs::path path = folder.add("a", "old");
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    rlimit was{};
    ::getrlimit(RLIMIT_FSIZE, &was);
    const rlimit now{5000, was.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &now);
    {
        ReplacingFile direct(path);
        EXPECT_FALSE(direct.try_write(bytes_of(std::string(100000, 'x'))));
        EXPECT_EQ(direct.fault(), EFBIG);
        EXPECT_FALSE(direct.try_write(bytes_of("y")));
        EXPECT_THROW(direct.commit(), Error);
        ReplacingFile gathered(path);  // found only when the last bytes leave the memory
        EXPECT_TRUE(gathered.try_write(bytes_of(std::string(6000, 'x'))));
        EXPECT_THROW(gathered.commit(), Error);
        EXPECT_NE(write_whole_file(path, std::string(6000, 'x')).find("too large"), std::string::npos);
    }
    ::setrlimit(RLIMIT_FSIZE, &was);
    std::signal(SIGXFSZ, handler);
    EXPECT_EQ(text_in(path), "old");
    EXPECT_EQ(folder.count(), 1U);
}

}  // namespace
}  // namespace backplane::base::testing
