#include "base/new_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <functional>
#include <utility>

#include "base/posix/sync_file.hpp"

namespace backplane::base {

namespace {

bool is_named(int descriptor, const char* path) noexcept {
    struct stat open {
    }, named{};
    return ::fstat(descriptor, &open) == 0 && ::lstat(path, &named) == 0 && open.st_dev == named.st_dev &&
           open.st_ino == named.st_ino;
}

}  // namespace

int NewFile::create(const std::filesystem::path& path, bool only_mine) noexcept {
    const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, only_mine ? 0600 : 0666);
    if (descriptor < 0) return errno;
    // Whoever sweeps may have come first: then the name is as good as taken.
    if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0 ? errno == EWOULDBLOCK : !is_named(descriptor, path.c_str())) {
        ::close(descriptor);
        return EEXIST;
    }
    handle_ = descriptor;
    lock_ = ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
    return 0;
}

void NewFile::take_permissions_of(const std::filesystem::path& other) noexcept {
    struct stat s {};
    if (::stat(other.c_str(), &s) != 0) return;
    // The owner first: giving a file away takes set-uid bits from it.
    if (::geteuid() == 0) static_cast<void>(::fchown(static_cast<int>(handle_), s.st_uid, s.st_gid));
    static_cast<void>(::fchmod(static_cast<int>(handle_), s.st_mode & 07777));
}

int NewFile::write(std::span<const std::byte> bytes) noexcept {
    while (!bytes.empty()) {
        const ssize_t written = ::write(static_cast<int>(handle_), bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return errno;
        if (written == 0) return EIO;
        bytes = bytes.subspan(static_cast<size_t>(written));
    }
    return 0;
}

int NewFile::sync() noexcept { return sync_file(static_cast<int>(handle_)); }

int NewFile::close() noexcept {
    const auto descriptor = static_cast<int>(std::exchange(handle_, -1));
    if (descriptor < 0 || ::close(descriptor) == 0 || errno == EINTR) return 0;
    return errno;
}

void NewFile::let_go() noexcept {
    if (const auto descriptor = static_cast<int>(std::exchange(lock_, -1)); descriptor >= 0) ::close(descriptor);
}

bool remove_abandoned(const std::filesystem::path& path, int64_t seconds) noexcept {
    const int descriptor = ::open(path.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0) return false;
    struct stat s {};
    const bool gone = ::fstat(descriptor, &s) == 0 && S_ISREG(s.st_mode) && s.st_uid == ::geteuid() && s.st_nlink == 1 &&
                      std::time(nullptr) - s.st_mtime >= seconds && ::flock(descriptor, LOCK_EX | LOCK_NB) == 0 &&
                      is_named(descriptor, path.c_str()) && ::unlink(path.c_str()) == 0;
    ::close(descriptor);
    return gone;
}

std::string machine_mark() {
    std::array<char, 256> name{};
    static_cast<void>(::gethostname(name.data(), name.size() - 1));
    std::array<char, 9> mark{};
    std::snprintf(mark.data(), mark.size(), "%08x", static_cast<unsigned>(std::hash<std::string>{}(name.data())));
    return mark.data();
}

void sync_folder(const std::filesystem::path& folder) noexcept {
    const int descriptor = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return;
    static_cast<void>(::fsync(descriptor));
    ::close(descriptor);
}

}  // namespace backplane::base
