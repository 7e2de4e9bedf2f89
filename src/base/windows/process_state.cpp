#include "base/process_state.hpp"

#include <clocale>
#include <cwchar>
#include <filesystem>
#include <memory>

#include "base/windows/system.hpp"

namespace backplane::base {

// Handlers of exceptions cannot be read without changing them, so they are not here.
namespace {

struct FreeStrings {
    void operator()(wchar_t* text) const noexcept { ::FreeEnvironmentStringsW(text); }
};

std::string environment_text() {
    const std::unique_ptr<wchar_t, FreeStrings> text(::GetEnvironmentStringsW());
    if (!text) return {};
    const wchar_t* end = text.get();
    while (*end != 0) end += std::wcslen(end) + 1;
    return windows::to_utf8({text.get(), static_cast<size_t>(end - text.get())});
}

std::string processors() {
    DWORD_PTR allowed = 0;
    DWORD_PTR there = 0;
    ::GetProcessAffinityMask(::GetCurrentProcess(), &allowed, &there);
    return std::to_string(allowed);
}

}  // namespace

size_t threads_of_this_process() { return 0; }

ProcessState process_state() {
    ProcessState state;
    std::error_code failed;
    state.emplace_back("the working directory", std::filesystem::current_path(failed).string());
    const char* locale = std::setlocale(LC_ALL, nullptr);
    state.emplace_back("the locale", locale != nullptr ? locale : "");
    state.emplace_back("the processors it may run on", processors());
    state.emplace_back("the priority", std::to_string(::GetPriorityClass(::GetCurrentProcess())));
    state.emplace_back("the environment", environment_text());
    for (const DWORD stream : {STD_INPUT_HANDLE, STD_OUTPUT_HANDLE, STD_ERROR_HANDLE})
        state.emplace_back("a standard stream", std::to_string(reinterpret_cast<uintptr_t>(::GetStdHandle(stream))));
    state.emplace_back("the rounding or flushing of floating-point numbers", std::to_string(floating_point_control()));
    return state;
}

}  // namespace backplane::base
