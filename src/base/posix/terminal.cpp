#include "base/terminal.hpp"

#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace backplane::base {

namespace {

std::atomic<std::atomic<uint32_t>*> interrupted{nullptr};  // a signal handler gets no argument

void on_signal(int number) {
    if (auto* flag = interrupted.load()) flag->store(static_cast<uint32_t>(number));
}

}  // namespace

TerminalSetup::TerminalSetup() noexcept = default;
TerminalSetup::~TerminalSetup() = default;

std::vector<std::string> program_arguments(int argc, char** argv) { return {argv, argv + argc}; }

bool is_terminal(Stream stream) noexcept { return ::isatty(stream == Stream::output ? STDOUT_FILENO : STDERR_FILENO) == 1; }

int terminal_columns() noexcept {
    winsize size{};
    return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

const std::atomic<uint32_t>* interrupt_flag() noexcept { return interrupted.load(); }

void interrupt_sets(std::atomic<uint32_t>& flag) noexcept {
    interrupted.store(&flag);
    struct sigaction action {};
    action.sa_handler = on_signal;
    action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
    ::sigaction(SIGINT, &action, nullptr);
    ::sigaction(SIGTERM, &action, nullptr);
    ::signal(SIGXFSZ, SIG_IGN);  // a file over the limit is then an error of write()
}

}  // namespace backplane::base
