// The terminal and the keyboard, for programs.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace backplane::base {

struct FileStatus;

// Make one, first thing in a program. Where the terminal has to be asked for it: UTF-8 and escape sequences while this lives. A standard
// stream that the program was started without gets a descriptor on which nothing can be written or read, so that no file which is opened
// later takes its place, and output to it fails.
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
// Whether lines on this terminal can be written over: it is one, and TERM is not "dumb".
bool moves_cursor(Stream stream);
// Whether text on it is to be coloured: never with NO_COLOR, always with CLICOLOR_FORCE other than 0, else on a terminal that is not dumb
// unless CLICOLOR is 0.
bool wants_colours(Stream stream);

// What this program prints to. While a TerminalSetup lives it is the output stream that the program was given, kept apart where the system allows
// it: what anybody else prints, a driver say, then goes to the error stream and is no part of a result that a program reads.
[[nodiscard]] std::FILE* output() noexcept;
// What the output stream still holds is written, and the system asked whether all of it arrived. 0, or the errno of the failure.
[[nodiscard]] int flush_output() noexcept;
// Whether what this program prints goes into that file, which would be lost where a new file took its place. (Windows lets nobody replace such a file.)
bool is_printed_to(const FileStatus& file) noexcept;

// The first Ctrl-C (SIGINT), SIGTERM or SIGHUP sets `flag` to the signal's number instead of ending the process; the second ends it.
void interrupt_sets(std::atomic<uint32_t>& flag) noexcept;
// That flag; null: nobody asked for one.
const std::atomic<uint32_t>* interrupt_flag() noexcept;

}  // namespace backplane::base
