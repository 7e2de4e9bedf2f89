#include "../fault.hpp"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cfenv>

bool in_the_child() { return strcmp(program_invocation_short_name, "backplane-probe") == 0; }

std::string environment_now(const char* name) {
    const char* value = getenv(name);
    return value != nullptr ? value : "";
}

void do_what_this_system_can(const std::string& what) {
    if (what == "crash") raise(SIGSEGV);
    if (what == "kill") kill(getpid(), SIGKILL);
    if (what == "interrupt") raise(SIGINT);
    if (what == "device")
        static_cast<void>(open("/dev/full", O_RDWR));  // as a driver does, for as long as the process lives
    if (what == "leave") _exit(0);
    if (what == "replace") rename(getenv("BACKPLANE_TEST_OTHER"), getenv("BACKPLANE_TEST_SELF"));
    if (what == "hang")
        for (;;) pause();
    if (what == "round") std::fesetround(FE_TOWARDZERO);
}
