#include "base/posix/sync_file.hpp"

#include <unistd.h>

#include <cerrno>

namespace backplane::base {

int sync_file(int descriptor) noexcept { return ::fsync(descriptor) == 0 || errno == EINVAL ? 0 : errno; }

}  // namespace backplane::base
