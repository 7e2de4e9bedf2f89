// The terminal and the keyboard, for programs.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace backplane::base {

// Where the terminal has to be asked for it: UTF-8 and escape sequences while this lives. Make one, first thing in a program.
class TerminalSetup {
public:
    TerminalSetup() noexcept;
    ~TerminalSetup();  // NOLINT(performance-trivially-destructible): not on every platform
    TerminalSetup(const TerminalSetup&) = delete;
    TerminalSetup& operator=(const TerminalSetup&) = delete;

private:
    [[maybe_unused]] uint32_t code_page_ = 0;  // to put back
};

// The program's arguments in UTF-8, the program's name first; from those of main() where these are.
std::vector<std::string> program_arguments(int argc, char** argv);

enum class Stream { output, error };
bool is_terminal(Stream stream) noexcept;
int terminal_columns() noexcept;  // of the error stream; 80 when not known

// The first Ctrl-C (or SIGTERM) sets `flag` to the signal's number instead of ending the process; the second ends it.
void interrupt_sets(std::atomic<uint32_t>& flag) noexcept;
// That flag; null: nobody asked for one.
const std::atomic<uint32_t>* interrupt_flag() noexcept;

}  // namespace backplane::base
