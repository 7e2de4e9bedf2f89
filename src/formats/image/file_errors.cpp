#include "formats/image/file_errors.hpp"

#include <cerrno>
#include <system_error>

namespace backplane::formats {

namespace {

struct Advice {
    int number;
    Code code;
    const char* text;
};

constexpr Advice advices[] = {
    {ENOENT, Code::not_found, "check the name; folders are not created"},
    {ENOTDIR, Code::not_found, "a part of the path is not a folder: check the name"},
    {ENAMETOOLONG, Code::invalid, "choose a shorter name"},
    {EISDIR, Code::unsupported, "it is a folder: name a file in it"},
    {EACCES, Code::denied, "change the permissions or choose another place"},
    {EPERM, Code::denied, "change the permissions or choose another place"},
    {EROFS, Code::denied, "choose a place that can be written to"},
    {ENOSPC, Code::denied, "free some space or choose another disk"},
    {EFBIG, Code::denied, "raise the limit of file sizes or choose another disk"},
    {ENOMEM, Code::no_host_memory, "free some memory"},
    {EMFILE, Code::denied, "close other files or raise the limit of open files"},
    {EIO, Code::corrupt, "the disk may be failing: copy the file from elsewhere"},
};

}  // namespace

std::string quoted(const std::filesystem::path& path) {
    std::string text = "'";
    for (const char c : path.string()) text += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
    text += '\'';
    return text;
}

Error system_error(std::string_view what, const std::filesystem::path& path, int number) {
    std::string text(what);
    text += ' ' + quoted(path) + ": " + std::generic_category().message(number);
    for (const Advice& advice : advices) {
        if (advice.number == number) return {advice.code, text + "; " + advice.text};
    }
    return {Code::denied, text};
}

}  // namespace backplane::formats
