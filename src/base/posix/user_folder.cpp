#include "base/user_folder.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>

#include "base/environment.hpp"

namespace backplane::base {

std::filesystem::path user_cache_folder() {
    if (const auto cache = environment("XDG_CACHE_HOME"); cache && (*cache)[0] == '/') return *cache;
    if (const auto home = environment("HOME"); home && (*home)[0] == '/') return std::filesystem::path(*home) / ".cache";
    return {};
}

std::string write_whole_file(const std::filesystem::path& path, const std::string& content) {
    std::error_code failed;
    const std::filesystem::path folder = path.parent_path();
    if (!std::filesystem::is_directory(folder, failed)) {
        std::filesystem::create_directories(folder.parent_path(), failed);
        if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return std::generic_category().message(errno);
    }
    std::string part = path.string() + "." + std::string(6, 'X');  // the letters that mkostemp() replaces
    const int fd = ::mkostemp(part.data(), O_CLOEXEC);
    if (fd < 0) return std::generic_category().message(errno);
    size_t done = 0;
    int error = 0;
    while (done < content.size() && error == 0) {
        const ssize_t n = ::write(fd, content.data() + done, content.size() - done);
        if (n >= 0)
            done += static_cast<size_t>(n);
        else if (errno != EINTR)
            error = errno;
    }
    if (error == 0 && ::fsync(fd) != 0) error = errno;
    if (::close(fd) != 0 && error == 0) error = errno;
    if (error == 0 && ::rename(part.c_str(), path.c_str()) != 0) error = errno;
    if (error == 0) return {};
    ::unlink(part.c_str());
    return std::generic_category().message(error);
}

}  // namespace backplane::base
