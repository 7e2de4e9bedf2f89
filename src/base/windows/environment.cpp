#include "base/environment.hpp"

#include "base/windows/system.hpp"

namespace backplane::base {

// Windows has no set-uid: a process gets the rights of whoever starts it. Elevation (UAC) is the same user's consent, and Microsoft
// counts it as no security boundary ("Microsoft Security Servicing Criteria for Windows").
bool privileges_were_raised() { return false; }

char list_separator() noexcept { return ';'; }

void set_where_unset(const char* name, const char* value) noexcept {
    if (::GetEnvironmentVariableA(name, nullptr, 0) == 0 && ::GetLastError() == ERROR_ENVVAR_NOT_FOUND)
        ::SetEnvironmentVariableA(name, value);
}

std::optional<std::string> environment(const char* name) {
    const std::wstring wide = windows::to_wide(name);
    std::wstring value;
    // Another thread may set a longer value between asking for the size and for the text.
    for (DWORD room = 256; value.size() < room;) {
        value.resize(room);
        room = ::GetEnvironmentVariableW(wide.c_str(), value.data(), room);
        if (room == 0) return std::nullopt;
        if (room < value.size()) {
            value.resize(room);
            break;
        }
    }
    return windows::to_utf8(value);
}

}  // namespace backplane::base
