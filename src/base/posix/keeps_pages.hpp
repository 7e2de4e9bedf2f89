#pragma once

namespace backplane::base {

// Will the file system of this open file take what is stored in a page that it has already given, for ever? One that copies on write or asks
// a server may find no room then, which is a SIGBUS.
bool keeps_pages(int file) noexcept;

}  // namespace backplane::base
