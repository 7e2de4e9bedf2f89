// What the system refuses: permissions, full disks, links, pipes.
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <thread>

#include "image_files.hpp"
#include "made_png.hpp"

namespace backplane::test {
namespace {

// The superuser is refused nothing: what is tested is what anybody else sees.
class NotTheSuperuser {
public:
    NotTheSuperuser() : was_(geteuid()) {
        if (was_ == 0) static_cast<void>(seteuid(65534));
    }
    ~NotTheSuperuser() { static_cast<void>(seteuid(was_)); }
    NotTheSuperuser(const NotTheSuperuser&) = delete;
    NotTheSuperuser& operator=(const NotTheSuperuser&) = delete;

private:
    uid_t was_;
};

// Files may grow to `bytes`: what a full disk does, without one.
class FilesEndAt {
public:
    explicit FilesEndAt(rlim_t bytes) {
        handler_ = std::signal(SIGXFSZ, SIG_IGN);
        getrlimit(RLIMIT_FSIZE, &was_);
        const rlimit now{bytes, was_.rlim_max};
        setrlimit(RLIMIT_FSIZE, &now);
    }
    ~FilesEndAt() {
        setrlimit(RLIMIT_FSIZE, &was_);
        std::signal(SIGXFSZ, handler_);
    }
    FilesEndAt(const FilesEndAt&) = delete;
    FilesEndAt& operator=(const FilesEndAt&) = delete;

private:
    rlimit was_{};
    void (*handler_)(int) = nullptr;
};

ImageInfo rgb(uint32_t width, uint32_t height) { return {width, height, 3, {}}; }

TEST(ImageSystem, AnUnreadableFileIsDenied) {
    const Folder folder;
    const PngKind kind;
    const auto path = folder.put("a.png", make_png(kind, samples_for(kind)));
    ASSERT_EQ(chmod(path.c_str(), 0), 0);
    const NotTheSuperuser anybody;
    const Error error = error_of([&] { static_cast<void>(ImageReader::open(path)); });
    EXPECT_EQ(error.code(), Code::denied);
    expect_words(error, {"a.png", "Permission denied", "permissions"});
}

TEST(ImageSystem, AFolderThatCannotBeWrittenToIsDeniedBeforeTheWork) {
    const Folder folder;
    ASSERT_EQ(chmod(folder.path().c_str(), 0555), 0);
    const NotTheSuperuser anybody;
    const Error error = error_of([&] { static_cast<void>(ImageWriter::create(folder / "a.png", rgb(8, 8))); });
    EXPECT_EQ(error.code(), Code::denied);
    expect_words(error, {"a.png", "Permission denied"});
}

TEST(ImageSystem, AFullDiskIsDeniedAndLeavesTheOldFileAlone) {
    const uint32_t width = 300, height = 200;
    const Bytes pixels = pattern(width * height * 3);
    for (const char* name : {"a.png", "a.jpg"}) {
        // Full at the header, in the middle, and only when the last buffer is flushed.
        const Folder folder;
        {
            const auto writer = ImageWriter::create(folder / name, rgb(width, height));
            writer->write(pixels);
            writer->finish();
        }
        const auto whole = std::filesystem::file_size(folder / name);
        folder.put(name, std::string("old"));
        for (const auto bytes : {rlim_t{0}, rlim_t{10}, rlim_t{whole / 2}, rlim_t{whole - 1}}) {
            const Error error = error_of([&] {
                const FilesEndAt full(bytes);
                const auto writer = ImageWriter::create(folder / name, rgb(width, height));
                writer->write(pixels);
                writer->finish();
            });
            EXPECT_EQ(error.code(), Code::denied) << bytes;
            expect_words(error, {name, "too large"});
            EXPECT_EQ(folder.count(), 1U);
            EXPECT_EQ(bytes_of(folder / name), (Bytes{'o', 'l', 'd'}));
        }
    }
}

TEST(ImageSystem, AWriterThatFailedStaysFailed) {
    const Folder folder;
    const FilesEndAt full(100);
    const auto writer = ImageWriter::create(folder / "a.png", rgb(300, 200));
    const Bytes pixels = pattern(300 * 200 * 3);
    EXPECT_EQ(error_of([&] { writer->write(pixels); }).code(), Code::denied);
    EXPECT_EQ(error_of([&] { writer->write(pixels); }).code(), Code::invalid);
    EXPECT_EQ(error_of([&] { writer->finish(); }).code(), Code::invalid);
}

TEST(ImageSystem, ALinkStaysALinkAndWhatItPointsAtIsReplaced) {
    const Folder folder;
    std::filesystem::create_directory(folder / "else");
    std::filesystem::create_symlink("else/real.png", folder / "a.png");
    for (int i = 0; i < 2; ++i) {  // to nothing yet, then to a file
        const auto writer = ImageWriter::create(folder / "a.png", rgb(4, 4));
        writer->write(pattern(48));
        writer->finish();
        EXPECT_TRUE(std::filesystem::is_symlink(folder / "a.png"));
        EXPECT_EQ(read_picture(folder / "else" / "real.png").pixels, pattern(48));
    }
}

TEST(ImageSystem, AReplacedFileKeepsItsPermissions) {
    const Folder folder;
    const auto path = folder.put("a.png", std::string("private"));
    ASSERT_EQ(chmod(path.c_str(), 0600), 0);
    const auto writer = ImageWriter::create(path, rgb(4, 4));
    writer->write(pattern(48));
    writer->finish();
    EXPECT_EQ(std::filesystem::status(path).permissions(), std::filesystem::perms(0600));
}

TEST(ImageSystem, LinksInACircleAreAnError) {
    const Folder folder;
    std::filesystem::create_symlink("b.png", folder / "a.png");
    std::filesystem::create_symlink("a.png", folder / "b.png");
    expect_words(error_of([&] { static_cast<void>(ImageWriter::create(folder / "a.png", rgb(4, 4))); }),
                 {"a.png", "symbolic links"});
    expect_words(error_of([&] { static_cast<void>(ImageReader::open(folder / "a.png")); }), {"a.png", "symbolic links"});
}

TEST(ImageSystem, ADeviceOrPipeIsNotReplaced) {
    const Folder folder;
    ASSERT_EQ(mkfifo((folder / "a.png").c_str(), 0600), 0);
    EXPECT_EQ(error_of([&] { static_cast<void>(ImageWriter::create(folder / "a.png", rgb(4, 4))); }).code(), Code::invalid);
    std::filesystem::create_symlink("/dev/null", folder / "b.png");
    EXPECT_EQ(error_of([&] { static_cast<void>(ImageWriter::create(folder / "b.png", rgb(4, 4))); }).code(), Code::invalid);
}

TEST(ImageSystem, AnImageIsReadFromAPipeThatTheProcessWasGiven) {
    const Folder folder;
    const PngKind kind;
    const Bytes file = make_png(kind, samples_for(kind));
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe(ends.data()), 0);
    std::thread writer([&] {
        EXPECT_EQ(::write(ends[1], file.data(), file.size()), static_cast<ssize_t>(file.size()));
        ::close(ends[1]);
    });
    const Bytes pixels = read_picture("/dev/fd/" + std::to_string(ends[0])).pixels;
    writer.join();
    ::close(ends[0]);
    EXPECT_EQ(pixels, read_picture(folder.put("a.png", file)).pixels);
}

TEST(ImageSystem, APipeByItsNameIsRefusedAndNeverWaitedFor) {
    const Folder folder;
    ASSERT_EQ(mkfifo((folder / "pipe.png").c_str(), 0600), 0);
    expect_words(error_of([&] { static_cast<void>(ImageReader::open(folder / "pipe.png")); }),
                 {"pipe.png", "no regular file"});
}

}  // namespace
}  // namespace backplane::test
