// What of running a child differs between the systems that have POSIX.
#pragma once

#include <sys/types.h>

#include <array>
#include <string>

namespace backplane::base {

// Both ends closed in a program that is started; false, and errno says why: none was made.
bool open_pipe(std::array<int, 2>& ends) noexcept;

// The same of two sockets, by which descriptors can be passed, either way.
bool open_sockets(std::array<int, 2>& ends) noexcept;

// Of recvmsg(): what is received is closed in a program that is started, from the beginning where the system has that.
extern const int kReceivedClosedInPrograms;

// The variables that a child inherits.
char** inherited_variables() noexcept;

// Flags of posix_spawn that only this system has.
short spawn_flags_of_this_system() noexcept;

// "Segmentation fault"; null: no such signal.
const char* words_for_signal(int number) noexcept;

// The processors that the calling thread may run on, as text and back; empty: the system does not tell.
std::string processors_allowed();
void allow_processors(const std::string& processors) noexcept;

// From now on this process ends when its parent does.
void end_with_parent() noexcept;

// Processes whose parent ends become this one's, where the system has that; and this process can be neither traced nor read by them.
void adopt_orphans() noexcept;
// Kills the children of this process, as far as the system names them.
void kill_children() noexcept;

// Kills those that this process, or one that it started, has started and that hold a thread of `process` as a debugger does. False: there
// is none, or the system does not tell.
bool kill_holders_of(pid_t process);

}  // namespace backplane::base
