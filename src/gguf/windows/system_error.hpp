// What GetLastError() means to a caller of the library.
#pragma once

#include <string>

#include "backplane/error.hpp"
#include "base/windows/system.hpp"

namespace backplane::formats {

// The Error for `number`, saying "what: text of the system".
inline Error system_error(const std::string& what, DWORD number) {
    Code code = Code::denied;  // whatever else it was, the system refused
    if (number == ERROR_FILE_NOT_FOUND || number == ERROR_PATH_NOT_FOUND || number == ERROR_BAD_NETPATH)
        code = Code::not_found;
    if (number == ERROR_NOT_ENOUGH_MEMORY || number == ERROR_OUTOFMEMORY || number == ERROR_COMMITMENT_LIMIT)
        code = Code::no_host_memory;
    if (number == ERROR_INVALID_NAME || number == ERROR_FILENAME_EXCED_RANGE || number == ERROR_BAD_PATHNAME)
        code = Code::invalid;
    return {code, what + ": " + base::windows::words_for(number)};
}

}  // namespace backplane::formats
