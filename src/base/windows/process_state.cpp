#include "base/process_state.hpp"

#include <clocale>
#include <filesystem>

namespace backplane::base {

// Handlers of exceptions cannot be read without changing them, so they are not here.
ProcessState process_state() {
    ProcessState state;
    std::error_code failed;
    state.emplace_back("the working directory", std::filesystem::current_path(failed).string());
    const char* locale = std::setlocale(LC_ALL, nullptr);
    state.emplace_back("the locale", locale != nullptr ? locale : "");
    state.emplace_back("the rounding or flushing of floating-point numbers", std::to_string(floating_point_control()));
    return state;
}

}  // namespace backplane::base
