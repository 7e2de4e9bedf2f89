// Pipes, rights and limits, as POSIX systems have them.
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>

#include "backplane/gguf.hpp"
#include "formats/tfjs.hpp"
#include "gguf/mapped_file.hpp"
#include "support.hpp"
#include "tfjs_documents.hpp"

namespace backplane {
namespace {

TEST(MappedFile, APipeThatNobodyWritesIsRefusedAtOnce) {
    const TemporaryFolder folder;
    ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
    expect_error([&] { formats::MappedFile file(folder / "pipe"); }, Code::invalid, "no regular file");
}

TEST(Tfjs, AWeightFileThatIsALinkIsRefused) {
    const TemporaryFolder folder;
    write_file(folder / "model.json", tfjs_document().dump());
    for (const auto& [name, bytes] : tfjs_shards())
        write_file(folder / name, std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    EXPECT_FALSE(formats::read_tfjs(folder / "model.json").weights.empty());
    std::filesystem::rename(folder / "a.bin", folder / "elsewhere");
    std::filesystem::create_symlink("elsewhere", folder / "a.bin");
    expect_error([&] { formats::read_tfjs(folder / "model.json"); }, Code::denied, "a link");
}

TEST(MappedFile, AFileNobodyMayReadIsDenied) {
    if (::geteuid() == 0) GTEST_SKIP() << "the superuser may read anything";
    const TemporaryFolder folder;
    write_file(folder / "a", "text");
    ::chmod((folder / "a").c_str(), 0);
    expect_error([&] { formats::MappedFile file(folder / "a"); }, Code::denied, "'");
}

TEST(GgufWriter, AFolderWithoutWritePermissionIsDenied) {
    if (::geteuid() == 0) GTEST_SKIP() << "the superuser may write anywhere";
    const TemporaryFolder folder;
    ::chmod(folder.path().c_str(), 0500);
    GgufWriter writer;
    expect_error([&] { writer.write(folder / "a.gguf"); }, Code::denied, "a.gguf");
    EXPECT_TRUE(folder.names().empty());
}

// Lets files grow to `bytes` and no further; the system then fails write() with EFBIG.
class FileSizeLimit {
public:
    explicit FileSizeLimit(rlim_t bytes) {
        ::getrlimit(RLIMIT_FSIZE, &old_);
        old_handler_ = ::signal(SIGXFSZ, SIG_IGN);
        const rlimit limit{bytes, old_.rlim_max};
        ::setrlimit(RLIMIT_FSIZE, &limit);
    }
    ~FileSizeLimit() {
        ::setrlimit(RLIMIT_FSIZE, &old_);
        ::signal(SIGXFSZ, old_handler_);
    }
    FileSizeLimit(const FileSizeLimit&) = delete;
    FileSizeLimit& operator=(const FileSizeLimit&) = delete;

private:
    rlimit old_{};
    void (*old_handler_)(int) = nullptr;
};

TEST(GgufWriter, AWriteThatFailsHalfwayLeavesTheOldFile) {
    const TemporaryFolder folder;
    write_file(folder / "a.gguf", "old");
    const std::vector<std::byte> bytes(1 << 16);
    GgufWriter writer;
    writer.add("t", DType::i8, {1 << 16}, bytes);
    {
        const FileSizeLimit limit(4096);
        expect_error([&] { writer.write(folder / "a.gguf"); }, Code::denied, "a.gguf");
    }
    EXPECT_EQ(read_file(folder / "a.gguf"), "old");
    EXPECT_EQ(folder.names(), std::vector<std::string>{"a.gguf"});
}

}  // namespace
}  // namespace backplane
