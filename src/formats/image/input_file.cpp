#include "formats/image/input_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/file.hpp"
#include "base/file_error.hpp"

namespace backplane::formats {

InputFile::InputFile(std::filesystem::path path) : path_(std::move(path)) {
    std::error_code ignored;
    if (std::filesystem::is_directory(path_, ignored)) throw base::file_error("cannot read the image", path_, EISDIR);
    // A pipe or device by its name would be waited for, or act when it is opened. What this process was given open is its user's affair.
    const std::string name = path_.generic_string();
    const bool given = name == "/dev/stdin" || name.starts_with("/dev/fd/") || name.starts_with("/proc/self/fd/");
    if (!given && base::status_of(path_).kind == base::FileStatus::Kind::other)
        throw Error(Code::invalid, "cannot read the image " + base::quoted(path_) + ": it is no regular file; name a file");
    errno = 0;
    file_.reset(base::open_to_read(path_));
    if (!file_) throw base::file_error("cannot open the image", path_, errno);
    errno = 0;
    head_size_ = std::fread(head_.data(), 1, head_.size(), file_.get());
    if (std::ferror(file_.get()) != 0) throw base::file_error("cannot read the image", path_, errno != 0 ? errno : EIO);
}

std::size_t InputFile::read(void* into, std::size_t size) noexcept {
    const std::size_t from_head = std::min(size, head_size_ - head_used_);
    std::memcpy(into, head_.data() + head_used_, from_head);
    head_used_ += from_head;
    if (from_head == size) return size;
    errno = 0;
    const std::size_t rest = std::fread(static_cast<uint8_t*>(into) + from_head, 1, size - from_head, file_.get());
    if (from_head + rest < size) {
        ended_ = true;
        if (std::ferror(file_.get()) != 0) fault_ = errno != 0 ? errno : EIO;
    }
    return from_head + rest;
}

}  // namespace backplane::formats
