#include "base/appended_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/file_error.hpp"

namespace backplane::base {

namespace {

// Behind the last line that is whole.
off_t end_of_lines(int descriptor, off_t size) {
    std::array<char, 4096> piece;
    while (size > 0) {
        const off_t from = std::max<off_t>(0, size - static_cast<off_t>(piece.size()));
        const ssize_t got = ::pread(descriptor, piece.data(), static_cast<size_t>(size - from), from);
        if (got != size - from) return -1;
        for (ssize_t i = got; i > 0; --i)
            if (piece[static_cast<size_t>(i - 1)] == '\n') return from + i;
        size = from;
    }
    return 0;
}

}  // namespace

AppendedFile::AppendedFile(std::filesystem::path path) : path_(std::move(path)) {
    const int descriptor = ::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0666);
    if (descriptor < 0) throw file_error("cannot write", path_, errno);
    handle_ = descriptor;
    const auto fail = [&](const Error& error) {
        ::close(descriptor);
        throw error;
    };
    struct stat s {};
    if (::fstat(descriptor, &s) != 0 || !S_ISREG(s.st_mode))
        fail(Error(Code::invalid, "cannot write " + quoted(path_) + ": it is no regular file"));
    // Some file systems have no locks: then nothing says that two processes are at it.
    if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        fail(Error(Code::busy, "cannot write " + quoted(path_) + ": another process is at work with it"));
    if (::fstat(descriptor, &s) != 0) fail(file_error("cannot write", path_, errno));
    const off_t end = end_of_lines(descriptor, s.st_size);
    if (end < 0 || (end < s.st_size && ::ftruncate(descriptor, end) != 0)) fail(file_error("cannot write", path_, errno));
}

AppendedFile::~AppendedFile() {
    if (handle_ >= 0) ::close(static_cast<int>(handle_));
}

void AppendedFile::append(std::string_view line) {
    std::string text(line);
    text += '\n';
    std::string_view left = text;
    while (!left.empty()) {
        const ssize_t written = ::write(static_cast<int>(handle_), left.data(), left.size());
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) throw file_error("cannot write", path_, written < 0 ? errno : EIO);
        left.remove_prefix(static_cast<size_t>(written));
    }
}

void AppendedFile::touch() noexcept { static_cast<void>(::futimens(static_cast<int>(handle_), nullptr)); }

}  // namespace backplane::base
