#include "base/file.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "backplane/error.hpp"
#include "base/dynamic_library.hpp"
#include "base/shell_word.hpp"

namespace backplane::base {

namespace {

std::string words_for(int error) { return std::generic_category().message(error); }

// Whoever installed this library can change what the application does anyway.
uid_t installer() {
    static const uid_t owner = [] {
        struct stat s {};
        const std::filesystem::path own = own_file();
        return !own.empty() && ::stat(own.c_str(), &s) == 0 ? s.st_uid : 0;
    }();
    return owner;
}

FileStatus from_stat(const struct stat& s) {
    FileStatus status;
    status.kind = S_ISREG(s.st_mode)   ? FileStatus::Kind::regular
                  : S_ISDIR(s.st_mode) ? FileStatus::Kind::folder
                                       : FileStatus::Kind::other;
    status.size = static_cast<uint64_t>(s.st_size);
    status.volume = s.st_dev;
    status.number = s.st_ino;
    status.modified_ns = static_cast<int64_t>(s.st_mtim.tv_sec) * 1'000'000'000 + s.st_mtim.tv_nsec;
    status.changed_ns = static_cast<int64_t>(s.st_ctim.tv_sec) * 1'000'000'000 + s.st_ctim.tv_nsec;
    status.mode = s.st_mode;
    status.others_may_write = (s.st_mode & S_IWOTH) != 0;
    // A group of the owner's own has the owner's number, by the custom of systems that make them.
    status.group_may_write = (s.st_mode & S_IWGRP) != 0 && s.st_gid != 0 && s.st_gid != s.st_uid && s.st_gid != ::getegid();
    status.sticky = (s.st_mode & S_ISVTX) != 0;
    status.foreign_owner = s.st_uid != 0 && s.st_uid != ::geteuid() && s.st_uid != installer();
    status.owner = "user " + std::to_string(s.st_uid);
    status.group = "group " + std::to_string(s.st_gid);
    return status;
}

}  // namespace

FileStatus status_of(const std::filesystem::path& path) {
    struct stat s {};
    if (::stat(path.c_str(), &s) == 0) return from_stat(s);
    FileStatus status;
    status.problem = words_for(errno);
    return status;
}

File::File(const std::filesystem::path& path) {
    const std::string what = "cannot read " + path.string() + ": ";
    // Not before knowing what it is: to open some devices is to act on them.
    status_ = status_of(path);
    if (status_.kind == FileStatus::Kind::missing) throw Error(Code::not_found, what + status_.problem);
    if (status_.kind != FileStatus::Kind::regular) throw Error(Code::invalid, what + "not a regular file");
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) throw Error(errno == ENOENT ? Code::not_found : Code::denied, what + words_for(errno));
    descriptor_ = fd;
    struct stat s {};
    if (::fstat(fd, &s) == 0) status_ = from_stat(s);  // the name may have been given to another file meanwhile
    if (status_.kind == FileStatus::Kind::regular) return;
    ::close(fd);
    throw Error(Code::invalid, what + "not a regular file");
}

File::~File() {
    if (descriptor_ >= 0) ::close(static_cast<int>(descriptor_));
}

size_t File::read_at(uint64_t offset, std::span<std::byte> into) const noexcept {
    size_t done = 0;
    while (done < into.size()) {
        const ssize_t n = ::pread(static_cast<int>(descriptor_), into.data() + done, into.size() - done,
                                  static_cast<off_t>(offset + done));
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        done += static_cast<size_t>(n);
    }
    return done;
}

std::vector<std::filesystem::path> names_in(const std::filesystem::path& folder, std::string& problem, size_t most) {
    std::vector<std::filesystem::path> names;
    DIR* handle = ::opendir(folder.c_str());
    if (handle == nullptr) {
        problem = words_for(errno);
        return names;
    }
    while (names.size() < most) {
        const dirent* entry = ::readdir(handle);
        if (entry == nullptr) break;
        names.emplace_back(entry->d_name);
    }
    ::closedir(handle);
    // By their bytes: the same order, since none has a separator.
    std::sort(names.begin(), names.end(), [](const auto& a, const auto& b) { return a.native() < b.native(); });
    return names;
}

std::filesystem::path real_path(const std::filesystem::path& path) {
    std::error_code failed;
    std::filesystem::path real = std::filesystem::canonical(path, failed);
    return failed ? std::filesystem::path() : real;
}

std::string how_to_protect(const std::filesystem::path& path) { return "chmod o-w " + shell_word(path.string()); }

std::string replace(const std::filesystem::path& from, const std::filesystem::path& to) {
    return ::rename(from.c_str(), to.c_str()) == 0 ? std::string() : words_for(errno);
}

bool remove_file(const std::filesystem::path& path) noexcept { return ::unlink(path.c_str()) == 0; }

void set_modified_now(const std::filesystem::path& path) noexcept {
    static_cast<void>(::utimensat(AT_FDCWD, path.c_str(), nullptr, AT_SYMLINK_NOFOLLOW));
}

std::FILE* open_to_read(const std::filesystem::path& path) noexcept { return std::fopen(path.c_str(), "rb"); }

std::FILE* create_new(const std::filesystem::path& path) noexcept { return std::fopen(path.c_str(), "wbx"); }

}  // namespace backplane::base
