#include "../fault.hpp"

#include <windows.h>

#include <cfenv>
#include <cwchar>

bool in_the_child() {
    wchar_t file[MAX_PATH] = {0};
    GetModuleFileNameW(nullptr, file, MAX_PATH - 1);
    return std::wcsstr(file, L"backplane-probe") != nullptr;
}

std::string environment_now(const char* name) {
    std::string value(1024, '\0');
    value.resize(GetEnvironmentVariableA(name, value.data(), static_cast<DWORD>(value.size())));
    return value;
}

void do_what_this_system_can(const std::string& what) {
    if (what == "crash") *static_cast<volatile int*>(nullptr) = 1;
    if (what == "kill") TerminateProcess(GetCurrentProcess(), 9);
    if (what == "hang") Sleep(INFINITE);
    if (what == "round") std::fesetround(FE_TOWARDZERO);
}
