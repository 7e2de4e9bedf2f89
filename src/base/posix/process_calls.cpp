#include "base/posix/process_calls.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstring>

extern char** environ;

namespace backplane::base {

bool open_pipe(std::array<int, 2>& ends) noexcept { return ::pipe2(ends.data(), O_CLOEXEC) == 0; }

char** inherited_variables() noexcept { return environ; }

short spawn_flags_of_this_system() noexcept { return 0; }

const char* words_for_signal(int number) noexcept { return ::sigdescr_np(number); }

void end_with_parent() noexcept { ::prctl(PR_SET_PDEATHSIG, SIGKILL); }

}  // namespace backplane::base
