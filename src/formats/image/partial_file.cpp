#include "formats/image/partial_file.hpp"

#include <array>
#include <cerrno>
#include <random>
#include <system_error>

#include "backplane/error.hpp"
#include "base/file.hpp"
#include "formats/image/file_errors.hpp"

namespace backplane::formats {

namespace {

namespace fs = std::filesystem;

// Follows links; what does not exist yet is taken as it is.
fs::path resolve(const fs::path& target) {
    std::error_code ignored;
    const fs::file_status status = fs::status(target, ignored);
    if (status.type() == fs::file_type::directory) {
        throw Error(Code::invalid, "cannot write " + quoted(target) + ": it is a folder; name a file in it");
    }
    if (fs::exists(status) && status.type() != fs::file_type::regular) {
        throw Error(Code::invalid, "cannot write " + quoted(target) + ": it is a device or pipe; name a plain file");
    }
    // By hand: the library's canonical paths leave a link to nothing as it is.
    fs::path real = target;
    for (int links = 0; fs::is_symlink(fs::symlink_status(real, ignored)); ++links) {
        if (links == 40) throw system_error("cannot write", target, ELOOP);
        real = real.parent_path() / fs::read_symlink(real, ignored);  // an absolute one replaces what is before it
    }
    return real;
}

// Short, because the target's own name may already be as long as the file system allows.
std::string temporary_name() {
    std::random_device random;
    std::array<char, 32> name{};
    std::snprintf(name.data(), name.size(), ".%08x%08x.partial", static_cast<unsigned>(random()),
                  static_cast<unsigned>(random()));
    return name.data();
}

}  // namespace

PartialFile::PartialFile(const fs::path& target) : target_(resolve(target)) {
    const std::size_t longest = 240;  // file systems end at 255; found now and not after the work
    if (target_.filename().native().size() > longest) throw system_error("cannot write", target, ENAMETOOLONG);
    for (int attempt = 0; attempt < 16 && !file_; ++attempt) {
        partial_ = target_.parent_path() / temporary_name();
        errno = 0;
        file_.reset(base::create_new(partial_));
        if (!file_ && errno != EEXIST) break;
    }
    if (!file_) throw system_error("cannot create", target, errno);
    std::error_code none_yet;
    const fs::file_status old = fs::status(target_, none_yet);
    if (fs::exists(old)) fs::permissions(partial_, old.permissions(), none_yet);  // what was private stays so
}

PartialFile::~PartialFile() { remove(); }

bool PartialFile::write(const void* bytes, std::size_t size) noexcept {
    if (!file_ || fault_ != 0) return false;
    errno = 0;
    if (std::fwrite(bytes, 1, size, file_.get()) == size) return true;
    fault_ = errno != 0 ? errno : EIO;
    return false;
}

void PartialFile::finish() {
    if (fault_ == 0 && file_) {
        errno = 0;
        if (std::fclose(file_.release()) != 0) fault_ = errno != 0 ? errno : EIO;
    }
    if (fault_ == 0) {
        std::error_code failed;
        fs::rename(partial_, target_, failed);
        if (!failed) {
            partial_.clear();
            return;
        }
        fault_ = failed.default_error_condition().value();
    }
    remove();
    throw system_error("cannot write", target_, fault_);
}

void PartialFile::remove() noexcept {
    file_.reset();
    if (partial_.empty()) return;
    std::error_code ignored;
    fs::remove(partial_, ignored);
    partial_.clear();
}

}  // namespace backplane::formats
