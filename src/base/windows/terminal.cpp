#include "base/terminal.hpp"

#include <fcntl.h>
#include <io.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <utility>

#include "base/windows/system.hpp"

#include <shellapi.h>

#include "base/file.hpp"

namespace backplane::base {

namespace {

std::atomic<std::atomic<uint32_t>*> interrupted{nullptr};  // a handler gets no argument

// Runs on a thread of the system's own. The second event is left to the system, which ends the process.
BOOL WINAPI on_event(DWORD event) {
    auto* flag = interrupted.exchange(nullptr);
    if (flag == nullptr) return FALSE;
    flag->store(event == CTRL_C_EVENT ? SIGINT : SIGTERM);
    return TRUE;
}

std::atomic<std::FILE*> kept_apart{nullptr};

// Both are turned: the descriptor that the C library prints to, and the handle that others ask the system for.
void keep_output_apart() noexcept {
    constexpr int kOutput = 1;
    constexpr int kError = 2;
    const int own = ::_dup(kOutput);
    if (own < 0) return;
    const auto handle = reinterpret_cast<HANDLE>(::_get_osfhandle(own));
    ::SetHandleInformation(handle, HANDLE_FLAG_INHERIT, 0);
    std::FILE* stream = ::_fdopen(own, "w");
    if (stream == nullptr) {
        ::_close(own);
    } else if (::_dup2(kError, kOutput) != 0) {
        std::fclose(stream);
    } else {
        ::SetStdHandle(STD_OUTPUT_HANDLE, ::GetStdHandle(STD_ERROR_HANDLE));
        if (::_isatty(own) != 0) std::setvbuf(stream, nullptr, _IONBF, 0);  // a line shows when it is printed
        kept_apart = stream;
    }
}

HANDLE handle_of(Stream stream) {
    std::FILE* own = stream == Stream::output ? kept_apart.load() : nullptr;
    if (own != nullptr) return reinterpret_cast<HANDLE>(::_get_osfhandle(::_fileno(own)));
    return ::GetStdHandle(stream == Stream::output ? STD_OUTPUT_HANDLE : STD_ERROR_HANDLE);
}

bool mode_of(Stream stream, DWORD& mode) {
    HANDLE handle = handle_of(stream);
    return handle != nullptr && handle != INVALID_HANDLE_VALUE && ::GetConsoleMode(handle, &mode) != 0;
}

}  // namespace

TerminalSetup::TerminalSetup() noexcept : code_page_(::GetConsoleOutputCP()) {
    ::SetConsoleOutputCP(CP_UTF8);
    keep_output_apart();
    ::_setmode(::_fileno(stdin), _O_BINARY);  // sound: else a byte of 26 ends it, and bytes of 13 go
    for (const Stream stream : {Stream::output, Stream::error}) {
        DWORD mode = 0;
        if (mode_of(stream, mode)) ::SetConsoleMode(handle_of(stream), mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
    }
}

TerminalSetup::~TerminalSetup() {
    if (code_page_ != 0) ::SetConsoleOutputCP(code_page_);
}

std::vector<std::string> program_arguments(int, char**) {
    int count = 0;
    const windows::LocalMemory<wchar_t*> words(::CommandLineToArgvW(::GetCommandLineW(), &count));
    std::vector<std::string> arguments;
    for (int i = 0; words && i < count; ++i) arguments.push_back(windows::to_utf8(words.get()[i]));
    return arguments;
}

std::FILE* output() noexcept {
    std::FILE* stream = kept_apart;
    return stream != nullptr ? stream : stdout;
}

// One that does not take escape sequences is not one for our purposes.
bool is_terminal(Stream stream) noexcept {
    DWORD mode = 0;
    return mode_of(stream, mode) && (mode & ENABLE_VIRTUAL_TERMINAL_PROCESSING) != 0;
}

int terminal_columns() noexcept {
    CONSOLE_SCREEN_BUFFER_INFO facts{};
    if (::GetConsoleScreenBufferInfo(handle_of(Stream::error), &facts) == 0) return 80;
    return facts.srWindow.Right - facts.srWindow.Left + 1;
}

const std::atomic<uint32_t>* interrupt_flag() noexcept { return interrupted.load(); }

int flush_output() noexcept {
    static std::atomic<int> failed{EIO};  // a stream that failed tells nobody again why
    errno = 0;
    if (std::fflush(output()) == 0 && std::ferror(output()) == 0) return 0;
    if (errno != 0) failed = errno;
    return failed;
}

bool is_printed_to(const FileStatus&) noexcept { return false; }

void interrupt_sets(std::atomic<uint32_t>& flag) noexcept {
    interrupted.store(&flag);
    ::SetConsoleCtrlHandler(on_event, TRUE);
}

}  // namespace backplane::base
