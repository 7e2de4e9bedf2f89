#include "base/posix/keeps_pages.hpp"

#include <sys/vfs.h>

#include <cstdint>

namespace backplane::base {

bool keeps_pages(int file) noexcept {
    struct statfs system {};
    if (::fstatfs(file, &system) != 0) return false;
    switch (static_cast<uint32_t>(system.f_type)) {
        case 0xEF53:      // ext2, ext3, ext4
        case 0x58465342:  // XFS
        case 0x01021994:  // tmpfs
        case 0x858458F6:  // ramfs
            return true;
        default: return false;
    }
}

}  // namespace backplane::base
