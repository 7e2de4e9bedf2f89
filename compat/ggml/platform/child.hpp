// What the system says of processes that this one starts.
#pragma once

#include <string>

namespace backplane::compat {

// Why this process must not try to start another: its seccomp filter may end it for that. Empty: it may try.
std::string why_no_children();

// Makes `re_make` run in the child of every fork() of this process, with `before` in the parent just before and `after` just after it.
void at_fork(void (*before)(), void (*after)(), void (*re_make)());

}  // namespace backplane::compat
