// What of the faults differs between systems: tests/support/faulty/posix, tests/support/faulty/windows.
#pragma once

#include <string>

bool in_the_child();
// Of the process as it is now: a C library of Windows keeps what was there when it was loaded. Empty: not set.
std::string environment_now(const char* name);
// crash, kill, interrupt, leave, hang, replace (the module's file by another), device (opens
// a device file that its descriptor holds), round (floating-point numbers towards zero).
void do_what_this_system_can(const std::string& what);
