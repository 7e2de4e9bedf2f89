#include "formats/replacing_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <utility>

#include "formats/posix/system_error.hpp"

namespace backplane::formats {

namespace {

constexpr int kNames = 100;  // tried for the temporary file

// Makes the rename itself survive a power cut. Some file systems cannot; the file is complete either way.
void sync_folder(const std::filesystem::path& folder) {
    const int descriptor = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return;
    ::fsync(descriptor);
    ::close(descriptor);
}

}  // namespace

ReplacingFile::ReplacingFile(std::filesystem::path path) : path_(std::move(path)) {
    const std::string what = "cannot write '" + path_.string() + "'";
    for (int i = 0; i < kNames; ++i) {
        temporary_ = path_;
        temporary_ += ".part-" + std::to_string(::getpid()) + "-" + std::to_string(i);
        descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (descriptor_ >= 0) return;
        if (errno != EEXIST) throw system_error(what, errno);
    }
    throw Error(Code::denied, what + ": the folder is full of unfinished files named '" + temporary_.filename().string() +
                                  "' and alike: remove them");
}

ReplacingFile::~ReplacingFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void ReplacingFile::write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) throw system_error("cannot write '" + path_.string() + "'", errno);
        bytes = bytes.subspan(static_cast<size_t>(written));
    }
}

void ReplacingFile::commit() {
    const std::string what = "cannot write '" + path_.string() + "'";
    if (::fsync(descriptor_) != 0 && errno != EINVAL) throw system_error(what, errno);
    // What close() reports, fsync() has reported already.
    ::close(std::exchange(descriptor_, -1));
    if (::rename(temporary_.c_str(), path_.c_str()) != 0) throw system_error(what, errno);
    temporary_.clear();
    sync_folder(path_.parent_path());
}

}  // namespace backplane::formats
