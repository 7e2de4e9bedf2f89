// Trying one module in a child process.
#pragma once

#include "chooser.hpp"

namespace backplane::compat {

struct Tried {
    Known known;  // counts unless one of the two below is given
    std::string
        untried;  // no child could be had, or it does not know this libggml-base: nothing was found out, and nothing will be
    std::string for_now;  // it was cut short: the module is not used now, and that is not remembered
};

// `left`: of the budget of the call.
Tried try_in_child(const std::filesystem::path& file, const Search& search, std::chrono::milliseconds left);

// What its bytes say. Nothing runs. Empty: nothing speaks against it.
std::string why_not_by_its_bytes(const std::filesystem::path& file);

}  // namespace backplane::compat
