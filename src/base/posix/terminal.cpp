#include "base/terminal.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/file.hpp"

namespace backplane::base {

namespace {

std::atomic<std::atomic<uint32_t>*> interrupted{nullptr};  // a signal handler gets no argument
std::atomic<std::FILE*> kept_apart{nullptr};

// Never among the first descriptors: a program that has hardly any goes on without.
void keep_output_apart() noexcept {
    constexpr int kFirst = 10;
    const int own = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, kFirst);
    if (own < 0) return;
    std::FILE* stream = ::fdopen(own, "w");  // null, too, where it was not opened for writing
    if (stream == nullptr) {
        ::close(own);
    } else if (::dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
        std::fclose(stream);
    } else {
        kept_apart = stream;
    }
}

void on_signal(int number) {
    if (auto* flag = interrupted.load()) flag->store(static_cast<uint32_t>(number));
}

}  // namespace

// The root folder is there in every sandbox, and no descriptor of it can be written to.
TerminalSetup::TerminalSetup() noexcept {
    for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream)
        if (::fcntl(stream, F_GETFD) == -1 && errno == EBADF) static_cast<void>(::open("/", O_RDONLY));
    keep_output_apart();
}
TerminalSetup::~TerminalSetup() = default;

std::vector<std::string> program_arguments(int argc, char** argv) { return {argv, argv + argc}; }

std::FILE* output() noexcept {
    std::FILE* stream = kept_apart;
    return stream != nullptr ? stream : stdout;
}

bool is_terminal(Stream stream) noexcept {
    return ::isatty(stream == Stream::output ? ::fileno(output()) : STDERR_FILENO) == 1;
}

int terminal_columns() noexcept {
    winsize size{};
    return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

const std::atomic<uint32_t>* interrupt_flag() noexcept { return interrupted.load(); }

// A file system that writes late (NFS, quotas) says so when a descriptor is closed; the stream keeps its own.
int flush_output() noexcept {
    static std::atomic<int> failed{EIO};  // a stream that failed tells nobody again why
    errno = 0;
    if (std::fflush(output()) != 0 || std::ferror(output()) != 0) {
        if (errno != 0) failed = errno;
        return failed;
    }
    const int copy = ::dup(::fileno(output()));
    return copy < 0 || ::close(copy) == 0 || errno == EINTR ? 0 : errno;
}

bool is_printed_to(const FileStatus& file) noexcept {
    if (file.kind != FileStatus::Kind::regular) return false;
    for (const int descriptor : {STDOUT_FILENO, STDERR_FILENO, ::fileno(output())}) {
        struct stat s {};
        if (::fstat(descriptor, &s) == 0 && static_cast<uint64_t>(s.st_dev) == file.volume &&
            static_cast<uint64_t>(s.st_ino) == file.number)
            return true;
    }
    return false;
}

void interrupt_sets(std::atomic<uint32_t>& flag) noexcept {
    interrupted.store(&flag);
    struct sigaction action {};
    action.sa_handler = on_signal;
    action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
    ::sigaction(SIGINT, &action, nullptr);
    ::sigaction(SIGTERM, &action, nullptr);
    // Under nohup it is ignored, and stays so.
    struct sigaction hangup {};
    if (::sigaction(SIGHUP, nullptr, &hangup) == 0 && hangup.sa_handler == SIG_DFL) ::sigaction(SIGHUP, &action, nullptr);
    ::signal(SIGXFSZ, SIG_IGN);  // a file over the limit is then an error of write()
}

}  // namespace backplane::base
