#include "formats/replacing_file.hpp"

#include <fcntl.h>
#include <io.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

#include "base/file.hpp"
#include "formats/windows/system_error.hpp"

namespace backplane::formats {

namespace {

constexpr int kNames = 100;       // tried for the temporary file
constexpr size_t kLongest = 255;  // characters in a name

using base::windows::extended;

std::string cannot_write(const std::filesystem::path& path) {
    return "cannot write '" + base::windows::to_utf8(path.native()) + "'";
}

}  // namespace

ReplacingFile::ReplacingFile(std::filesystem::path path) : path_(std::move(path)) {
    const std::string what = cannot_write(path_);
    for (int i = 0; i < kNames; ++i) {
        temporary_ = path_;
        temporary_ += ".part-" + std::to_string(::GetCurrentProcessId()) + "-" + std::to_string(i);
        if (temporary_.filename().native().size() > kLongest) throw Error(Code::invalid, what + ": its name is too long");
        HANDLE made = ::CreateFileW(extended(temporary_).c_str(), GENERIC_WRITE, 0, nullptr, CREATE_NEW,
                                    FILE_ATTRIBUTE_NORMAL, nullptr);
        if (made != INVALID_HANDLE_VALUE) {
            descriptor_ = ::_open_osfhandle(reinterpret_cast<intptr_t>(made), _O_BINARY | _O_NOINHERIT);
            if (descriptor_ >= 0) return;
            ::CloseHandle(made);
            ::DeleteFileW(extended(temporary_).c_str());
            throw Error(Code::denied, what + ": this process has too many open files");
        }
        if (::GetLastError() != ERROR_FILE_EXISTS) throw system_error(what, ::GetLastError());
    }
    throw Error(Code::denied, what + ": the folder is full of unfinished files named '" +
                                  base::windows::to_utf8(temporary_.filename().native()) + "' and alike: remove them");
}

ReplacingFile::~ReplacingFile() {
    if (descriptor_ >= 0) ::_close(descriptor_);
    if (!temporary_.empty()) ::DeleteFileW(extended(temporary_).c_str());
}

void ReplacingFile::write(std::span<const std::byte> bytes) {
    constexpr size_t kMost = size_t{1} << 30;  // in one call
    while (!bytes.empty()) {
        const int written = ::_write(descriptor_, bytes.data(), static_cast<unsigned>(std::min(bytes.size(), kMost)));
        if (written < 0) throw Error(Code::denied, cannot_write(path_) + ": " + std::generic_category().message(errno));
        bytes = bytes.subspan(static_cast<size_t>(written));
    }
}

void ReplacingFile::commit() {
    if (::_commit(descriptor_) != 0)
        throw Error(Code::denied, cannot_write(path_) + ": " + std::generic_category().message(errno));
    ::_close(std::exchange(descriptor_, -1));
    if (base::status_of(path_).kind == base::FileStatus::Kind::folder)
        throw Error(Code::invalid, cannot_write(path_) + ": it is a folder");
    const std::string problem = base::replace(temporary_, path_);
    if (!problem.empty()) throw Error(Code::denied, cannot_write(path_) + ": " + problem);
    temporary_.clear();
}

}  // namespace backplane::formats
