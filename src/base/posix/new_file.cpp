#include "base/new_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/posix/sync_file.hpp"

namespace backplane::base {

int NewFile::create(const std::filesystem::path& path, bool only_mine) noexcept {
    const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, only_mine ? 0600 : 0666);
    if (descriptor < 0) return errno;
    handle_ = descriptor;
    return 0;
}

void NewFile::take_permissions_of(const std::filesystem::path& other) noexcept {
    struct stat s {};
    if (::stat(other.c_str(), &s) == 0) static_cast<void>(::fchmod(static_cast<int>(handle_), s.st_mode & 07777));
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

void sync_folder(const std::filesystem::path& folder) noexcept {
    const int descriptor = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return;
    static_cast<void>(::fsync(descriptor));
    ::close(descriptor);
}

}  // namespace backplane::base
