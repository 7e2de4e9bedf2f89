// Who may change a file and to whom it belongs, from its security descriptor.
#pragma once

#include <string>

#include "base/windows/system.hpp"

namespace backplane::base::windows {

struct Access {
    bool others_may_write = false;
    bool foreign_owner = false;
    std::string owner;
};

// `file` must be open for READ_CONTROL. What cannot be read is taken for writable: nothing then says that it is not.
Access access_of(HANDLE file, bool folder);

}  // namespace backplane::base::windows
