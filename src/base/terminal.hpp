// The terminal and the keyboard, for programs.
#pragma once

#include <atomic>
#include <cstdint>

namespace backplane::base {

enum class Stream { output, error };
bool is_terminal(Stream stream) noexcept;
int terminal_columns() noexcept;  // of the error stream; 80 when not known

// The first Ctrl-C (or SIGTERM) sets `flag` to the signal's number instead of ending the process; the second ends it.
void interrupt_sets(std::atomic<uint32_t>& flag) noexcept;

}  // namespace backplane::base
