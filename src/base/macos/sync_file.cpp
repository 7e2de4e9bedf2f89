// Written by Apple's documentation; not built or run by this project's checks yet.
// fsync(2): it leaves the bytes in the drive's own cache; F_FULLFSYNC (fcntl(2)) has them written, where the file system can.
#include "base/posix/sync_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace backplane::base {

int sync_file(int descriptor) noexcept {
    if (::fcntl(descriptor, F_FULLFSYNC) == 0) return 0;
    return ::fsync(descriptor) == 0 || errno == EINVAL ? 0 : errno;
}

}  // namespace backplane::base
