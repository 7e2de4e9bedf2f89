#include "base/process_state.hpp"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <clocale>
#include <cstring>
#include <filesystem>

namespace backplane::base {

namespace {

std::string handling(int number) {
    struct sigaction action {};
    if (::sigaction(number, nullptr, &action) != 0) return {};
    std::array<char, sizeof action.sa_sigaction> handler{};  // a pointer to a function, as bytes
    std::memcpy(handler.data(), &action.sa_sigaction, handler.size());
    return std::string(handler.data(), handler.size()) + std::to_string(action.sa_flags);
}

}  // namespace

ProcessState process_state() {
    ProcessState state;
    for (int number = 1; number < 32; ++number)
        state.emplace_back("the handling of signal " + std::to_string(number), handling(number));
    std::error_code failed;
    state.emplace_back("the working directory", std::filesystem::current_path(failed).string());
    const mode_t mask = ::umask(077);
    ::umask(mask);
    state.emplace_back("the mask of new files", std::to_string(mask));
    const char* locale = std::setlocale(LC_ALL, nullptr);
    state.emplace_back("the locale", locale != nullptr ? locale : "");
    state.emplace_back("the rounding or flushing of floating-point numbers", std::to_string(floating_point_control()));
    return state;
}

}  // namespace backplane::base
