// What errno means to a caller of the library.
#pragma once

#include <cerrno>
#include <string>
#include <system_error>

#include "backplane/error.hpp"

namespace backplane::formats {

// The Error for `number`, saying "what: text of the system".
inline Error system_error(const std::string& what, int number) {
    Code code = Code::denied;  // whatever else it was, the system refused
    if (number == ENOENT || number == ENOTDIR) code = Code::not_found;
    if (number == ENOMEM) code = Code::no_host_memory;
    if (number == ENAMETOOLONG || number == EISDIR || number == ELOOP) code = Code::invalid;
    return {code, what + ": " + std::generic_category().message(number)};
}

}  // namespace backplane::formats
