// What the environment says of terminals: https://no-color.org, https://bixense.com/clicolors.
#include "base/terminal.hpp"

#include "base/environment.hpp"

namespace backplane::base {

namespace {

bool is_set_to(const char* name, const char* value) { return environment(name).value_or("") == value; }

}  // namespace

bool moves_cursor(Stream stream) { return is_terminal(stream) && !is_set_to("TERM", "dumb"); }

bool wants_colours(Stream stream) {
    if (environment("NO_COLOR")) return false;
    if (environment("CLICOLOR_FORCE") && !is_set_to("CLICOLOR_FORCE", "0")) return true;
    return moves_cursor(stream) && !is_set_to("CLICOLOR", "0");
}

}  // namespace backplane::base
