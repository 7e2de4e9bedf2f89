// What of running a child differs between the systems that have POSIX.
#pragma once

#include <array>

namespace backplane::base {

// Both ends closed in a program that is started; false, and errno says why: none was made.
bool open_pipe(std::array<int, 2>& ends) noexcept;

// The variables that a child inherits.
char** inherited_variables() noexcept;

// Flags of posix_spawn that only this system has.
short spawn_flags_of_this_system() noexcept;

// "Segmentation fault"; null: no such signal.
const char* words_for_signal(int number) noexcept;

// From now on this process ends when its parent does.
void end_with_parent() noexcept;

}  // namespace backplane::base
