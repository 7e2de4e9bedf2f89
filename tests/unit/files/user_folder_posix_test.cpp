#include "base/user_folder.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>

#include "folder.hpp"

namespace backplane::base::testing {
namespace {

unsigned rights_of(const fs::path& path) {
    struct stat s {};
    return ::stat(path.c_str(), &s) == 0 ? s.st_mode & 07777U : 0;
}

// Puts a variable back as it was.
class Variable {
public:
    Variable(const char* name, const char* value) : name_(name) {
        if (const char* was = std::getenv(name)) was_ = was;
        value != nullptr ? ::setenv(name, value, 1) : ::unsetenv(name);
    }
    ~Variable() { was_ ? ::setenv(name_, was_->c_str(), 1) : ::unsetenv(name_); }
    Variable(const Variable&) = delete;
    Variable& operator=(const Variable&) = delete;

private:
    const char* name_;
    std::optional<std::string> was_;
};

TEST(UserFolder, NoFolderOnTheWayIsOneThatEverybodyMayWriteToWhateverTheUmask) {
    const Folder folder;
    const mode_t before = ::umask(0);
    const std::string problem = write_whole_file(folder / ".cache" / "backplane" / "verdicts" / "file", "x");
    ::umask(before);
    EXPECT_EQ(problem, "");
    for (const fs::path place : {".cache", ".cache/backplane", ".cache/backplane/verdicts"})
        EXPECT_EQ(rights_of(folder / place), 0700U) << place;
    EXPECT_EQ(read_own_file(folder / ".cache/backplane/verdicts/file", 10), "x");
}

TEST(UserFolder, ARelativePathAndOneThatEndsWithASlashAreMadeToo) {
    const Folder folder;
    const fs::path was = fs::current_path();
    fs::current_path(folder.path());
    EXPECT_EQ(make_own_folder("one"), "");
    EXPECT_EQ(make_own_folder("two/three/"), "");
    fs::current_path(was);
    EXPECT_TRUE(fs::is_directory(folder / "one"));
    EXPECT_TRUE(fs::is_directory(folder / "two" / "three"));
    EXPECT_NE(make_own_folder(folder.add("file", "") / "below" / "it"), "");
}

TEST(UserFolder, RootWithTheHomeOfAnotherUserKeepsNothingThere) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can make a folder of another user";
    const Folder folder;
    fs::create_directory(folder / "home");
    ASSERT_EQ(::chown((folder / "home").c_str(), 12345, 12345), 0);
    const Variable none("XDG_CACHE_HOME", nullptr);
    {
        const Variable home("HOME", (folder / "home").c_str());
        EXPECT_EQ(user_cache_folder(), fs::path());
        const Variable cache("XDG_CACHE_HOME", (folder / "home" / "deep" / "cache").c_str());
        EXPECT_EQ(user_cache_folder(), fs::path());
    }
    const Variable home("HOME", folder.path().c_str());
    EXPECT_EQ(user_cache_folder(), folder / ".cache");
}

}  // namespace
}  // namespace backplane::base::testing
