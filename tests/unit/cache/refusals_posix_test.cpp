// What the system refuses: each is one line of the log, and no cache.
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "support.hpp"

namespace backplane::cache::testing {
namespace {

// The superuser is refused nothing: what is tested is what anybody else sees.
class NotTheSuperuser {
public:
    explicit NotTheSuperuser(const fs::path& folder) : was_(::geteuid()) {
        if (was_ != 0) return;
        static_cast<void>(::chown(folder.c_str(), kNobody, kNobody));
        static_cast<void>(::seteuid(kNobody));
    }
    ~NotTheSuperuser() { static_cast<void>(::seteuid(was_)); }
    NotTheSuperuser(const NotTheSuperuser&) = delete;
    NotTheSuperuser& operator=(const NotTheSuperuser&) = delete;

private:
    static constexpr uid_t kNobody = 65534;
    uid_t was_;
};

// Files may grow to `bytes`: what a full disk does, without one.
class FilesEndAt {
public:
    explicit FilesEndAt(rlim_t bytes) {
        handler_ = std::signal(SIGXFSZ, SIG_IGN);
        ::getrlimit(RLIMIT_FSIZE, &was_);
        const rlimit now{bytes, was_.rlim_max};
        ::setrlimit(RLIMIT_FSIZE, &now);
    }
    ~FilesEndAt() {
        ::setrlimit(RLIMIT_FSIZE, &was_);
        std::signal(SIGXFSZ, handler_);
    }
    FilesEndAt(const FilesEndAt&) = delete;
    FilesEndAt& operator=(const FilesEndAt&) = delete;

private:
    rlimit was_{};
    void (*handler_)(int) = nullptr;
};

void expect_one_line(Cache& cache, const std::string& word) {
    for (int i = 0; i < 10; ++i) {
        cache.put("key " + std::to_string(i), value_of(5000, 1));
        EXPECT_EQ(cache.get("key " + std::to_string(i)), std::nullopt);
        cache.reject("key");
    }
    ASSERT_EQ(cache.warnings().size(), 1U);
    EXPECT_NE(cache.warnings()[0].find(word), std::string::npos) << cache.warnings()[0];
    EXPECT_EQ(cache.warnings()[0].find('\n'), std::string::npos);
    EXPECT_EQ(cache.object().problem(), cache.warnings()[0]);
}

TEST(KernelCacheRefused, AFileWhereTheFolderShouldBe) {
    const Folder folder;
    Cache cache(folder.add("file", "x"));
    expect_one_line(cache, "no folder");
    EXPECT_EQ(text_in(folder / "file"), "x");
    Cache below(folder / "file" / "cache");
    expect_one_line(below, "cannot make");
}

TEST(KernelCacheRefused, AFullDiskLeavesWhatIsThereAndNothingHalf) {
    const Folder folder;
    Cache cache(folder.path());
    cache.put("old", "value");
    {
        const FilesEndAt full(1000);
        expect_one_line(cache, "too large");
    }
    EXPECT_EQ(cache.get("old"), "value");
    EXPECT_EQ(folder.count(), 1U);
    cache.put("key", "value");
    EXPECT_EQ(folder.count(), 1U) << "after several failures nothing more is tried";
}

TEST(KernelCacheRefused, AReadOnlyFolderStillServesWhatIsInIt) {
    const Folder folder;
    const NotTheSuperuser anybody(folder.path());
    Cache(folder.path()).put("old", "value");
    ASSERT_EQ(::chmod(folder.path().c_str(), 0500), 0);
    Cache cache(folder.path());
    EXPECT_EQ(cache.get("old"), "value");
    expect_one_line(cache, "Permission denied");
    EXPECT_EQ(cache.get("old"), "value");
    ::chmod(folder.path().c_str(), 0700);
}

TEST(KernelCacheRefused, AFolderThatMayNotBeEntered) {
    const Folder folder;
    const NotTheSuperuser anybody(folder.path());
    Cache(folder / "cache").put("old", "value");
    ASSERT_EQ(::chmod((folder / "cache").c_str(), 0), 0);
    Cache cache(folder / "cache");
    expect_one_line(cache, "Permission denied");
    ::chmod((folder / "cache").c_str(), 0700);
}

TEST(KernelCacheRefused, AFolderThatOthersMayWriteToIsNotUsed) {
    const Folder folder;
    {
        Cache cache(folder / "cache");
        cache.put("key", "value");
    }
    test::let_others_write(folder / "cache");
    Cache cache(folder / "cache");
    EXPECT_EQ(cache.get("key"), std::nullopt) << "it may be anybody's";
    expect_one_line(cache, "everybody may write");
}

TEST(KernelCacheRefused, AFolderBelowOneThatOthersMayWriteTo) {
    const Folder folder;
    fs::create_directories(folder / "open" / "cache");
    test::let_others_write(folder / "open");
    Cache cache(folder / "open" / "cache");
    expect_one_line(cache, "everybody may write");
}

TEST(KernelCacheRefused, AFolderOfSomebodyElse) {
    if (::geteuid() != 0) GTEST_SKIP() << "only the superuser can give a folder away";
    const Folder folder;
    fs::create_directory(folder / "cache");
    ASSERT_EQ(::chown((folder / "cache").c_str(), 12345, 12345), 0);
    Cache cache(folder / "cache");
    expect_one_line(cache, "belongs to user 12345");
}

TEST(KernelCacheRefused, AnEntryOfSomebodyElseIsNotBelieved) {
    if (::geteuid() != 0) GTEST_SKIP() << "only the superuser can give a file away";
    const Folder folder;
    Cache cache(folder.path());
    cache.put("key", "value");
    ASSERT_EQ(::chown(cache.path_of("key").c_str(), 12345, 12345), 0);
    EXPECT_EQ(cache.get("key"), std::nullopt);
    EXPECT_FALSE(is_there(cache.path_of("key")));
}

TEST(KernelCacheRefused, ALinkInPlaceOfAnEntryIsReplacedAndNotFollowed) {
    const Folder folder;
    Cache cache(folder / "cache");
    cache.put("key", "value");
    fs::rename(cache.path_of("key"), folder / "elsewhere");
    fs::create_symlink(folder / "elsewhere", cache.path_of("key"));
    const std::string before = text_in(folder / "elsewhere");
    EXPECT_EQ(cache.get("key"), std::nullopt);
    EXPECT_FALSE(is_there(cache.path_of("key")));
    EXPECT_EQ(text_in(folder / "elsewhere"), before);
    for (const char* target : {"elsewhere", "nothing"}) {
        fs::remove(cache.path_of("key"));
        fs::create_symlink(folder / target, cache.path_of("key"));
        cache.put("key", "new");
        EXPECT_FALSE(fs::is_symlink(cache.path_of("key")));
        EXPECT_EQ(cache.get("key"), "new");
        EXPECT_EQ(text_in(folder / "elsewhere"), before);
        EXPECT_FALSE(fs::exists(folder / "nothing"));
    }
    EXPECT_TRUE(cache.warnings().empty());
}

TEST(KernelCacheRefused, ASparseFileOfATebibyteIsNotRead) {
    const Folder folder;
    Cache cache(folder.path());
    write_file(cache.path_of("key"), "BPKERNEL");
    fs::resize_file(cache.path_of("key"), uint64_t{1} << 40);
    EXPECT_NE(problem_of(folder.path(), cache.path_of("key").filename().string(), uint64_t{1} << 30), "");
    EXPECT_EQ(cache.get("key"), std::nullopt);
    EXPECT_FALSE(is_there(cache.path_of("key")));
}

TEST(KernelCacheRefused, APipeInPlaceOfAnEntryIsNeverWaitedFor) {
    const Folder folder;
    Cache cache(folder.path());
    ASSERT_EQ(::mkfifo(cache.path_of("key").c_str(), 0600), 0);
    EXPECT_EQ(cache.get("key"), std::nullopt);
    EXPECT_FALSE(is_there(cache.path_of("key")));
    ASSERT_EQ(::mkfifo(cache.path_of("key").c_str(), 0600), 0);
    cache.put("key", "value");
    EXPECT_EQ(cache.get("key"), "value");
}

TEST(KernelCacheRefused, EntriesAndTheFolderAreForThisUserAlone) {
    const Folder folder;
    Cache cache(folder / "cache");
    cache.put("key", "value");
    EXPECT_EQ(fs::status(folder / "cache").permissions(), fs::perms::owner_all);
    EXPECT_EQ(fs::status(cache.path_of("key")).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

// A disk that really is full, where a test may make one.
TEST(KernelCacheRefused, ADiskWithoutSpaceSaysSoOnce) {
    const Folder folder;
    if (::geteuid() != 0 || ::mount("none", folder.path().c_str(), "tmpfs", 0, "size=64k,mode=0700") != 0)
        GTEST_SKIP() << "no file system may be mounted here";
    {
        Cache cache(folder.path());
        cache.put("old", "value");
        for (int i = 0; i < 20; ++i) cache.put("key " + std::to_string(i), value_of(20000, static_cast<unsigned>(i)));
        ASSERT_EQ(cache.warnings().size(), 1U);
        EXPECT_NE(cache.warnings()[0].find("No space left"), std::string::npos) << cache.warnings()[0];
        EXPECT_EQ(cache.get("old"), "value");
        std::string problem;
        for (const FoundFile& file : files_in(folder.path(), problem)) {
            EXPECT_FALSE(file.temporary) << file.name;
            EXPECT_EQ(problem_of(folder.path(), file.name, 1 << 20), "");
        }
    }
    ::umount(folder.path().c_str());
}

}  // namespace
}  // namespace backplane::cache::testing
