#include "base/file_error.hpp"

#include <cerrno>
#include <system_error>

namespace backplane::base {

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
    {ELOOP, Code::invalid, "remove the links that lead in a circle"},
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
    for (const char8_t c : path.u8string()) text += c < 0x20 || c == 0x7f ? '?' : static_cast<char>(c);
    text += '\'';
    return text;
}

Error file_error(std::string_view what, const std::filesystem::path& path, int number) {
    std::string text(what);
    text += ' ' + quoted(path) + ": " + std::generic_category().message(number);
    for (const Advice& advice : advices) {
        if (advice.number == number) return {advice.code, text + "; " + advice.text};
    }
    return {Code::denied, text};
}

}  // namespace backplane::base
