#include "base/windows/system.hpp"

namespace backplane::base::windows {

namespace {

// By replace(), which gives the name to the new file a moment later.
bool is_put_aside(const std::filesystem::path& extended) {
    std::filesystem::path pattern = extended;
    pattern += kPutAside;
    pattern += L"*";
    WIN32_FIND_DATAW entry{};
    HANDLE search = ::FindFirstFileW(pattern.c_str(), &entry);
    if (search == INVALID_HANDLE_VALUE) return false;
    ::FindClose(search);
    return true;
}

}  // namespace

Handle open_existing(const std::filesystem::path& extended, DWORD rights, DWORD shared, DWORD flags) {
    Patience patience;
    constexpr int kLooks = 6;
    for (int looks = 0;;) {
        HANDLE file = ::CreateFileW(extended.c_str(), rights, shared, nullptr, OPEN_EXISTING, flags, nullptr);
        if (file != INVALID_HANDLE_VALUE) return Handle(file);
        const DWORD error = ::GetLastError();
        bool again = error == ERROR_SHARING_VIOLATION || error == ERROR_DELETE_PENDING;
        bool at_once = false;
        if (error == ERROR_FILE_NOT_FOUND) {
            again = is_put_aside(extended);
            // The new one may have come between the two looks, and the next replacement have begun.
            at_once = !again && ++looks < kLooks;
        }
        if (!at_once && !(again && patience.wait())) {
            ::SetLastError(error);
            return {};
        }
    }
}

}  // namespace backplane::base::windows
