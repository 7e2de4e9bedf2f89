// Getting what was written to the disk, as the system at hand wants to be asked.
#pragma once

namespace backplane::base {

// 0: the disk has all that was written to the open file, or the file system cannot say so; else errno.
int sync_file(int descriptor) noexcept;

}  // namespace backplane::base
