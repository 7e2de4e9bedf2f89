#include "base/fault_watch.hpp"

#include <pthread.h>
#include <signal.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <mutex>

namespace backplane::base {

namespace {

constexpr std::array kFaults{SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGSYS, SIGTRAP};
constexpr std::array kAsked{SIGINT, SIGTERM, SIGHUP, SIGQUIT};

// Handlers belong to the process, so their book-keeping does.
std::atomic<EndingListener> heard{nullptr};
std::atomic<unsigned> generation{0};
std::mutex& of_handlers() {
    static std::mutex mutex;
    return mutex;
}
unsigned watches = 0;

bool is_fault(int number) {
    for (const int fault : kFaults)
        if (fault == number) return true;
    return false;
}

// The processor will do the same again, and this time nobody listens: the core file then shows where. What was sent is sent again.
bool happens_again(const siginfo_t* info, int number) {
    const bool by_processor = number == SIGSEGV || number == SIGILL || number == SIGFPE || number == SIGBUS;
    return by_processor && info != nullptr && info->si_code > 0 && !(number == SIGBUS && info->si_code > BUS_OBJERR);
}

void signal_heard(int number, siginfo_t* info, void*) {
    const int error = errno;
    if (const EndingListener listener = heard.load()) listener(is_fault(number) ? Ending::fault : Ending::asked, number);
    errno = error;
    if (!happens_again(info, number)) ::raise(number);  // its action is the default one again, by SA_RESETHAND
}

void listen_to(int number) {
    struct sigaction now {};
    if (::sigaction(number, nullptr, &now) != 0 || (now.sa_flags & SA_SIGINFO) != 0 || now.sa_handler != SIG_DFL) return;
    struct sigaction mine {};
    mine.sa_sigaction = signal_heard;
    mine.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESETHAND | SA_NODEFER;
    ::sigemptyset(&mine.sa_mask);
    ::sigaction(number, &mine, nullptr);
}

void leave_alone(int number) {
    struct sigaction now {};
    if (::sigaction(number, nullptr, &now) != 0 || (now.sa_flags & SA_SIGINFO) == 0 || now.sa_sigaction != signal_heard)
        return;
    struct sigaction none {};
    none.sa_handler = SIG_DFL;
    ::sigaction(number, &none, nullptr);
}

}  // namespace

FaultWatch::FaultWatch(EndingListener listener) : listens_(listener != nullptr) {
    static const int once = ::pthread_atfork(nullptr, nullptr, [] { ++generation; });
    static_cast<void>(once);
    if (!listens_) return;
    const std::lock_guard lock(of_handlers());
    heard = listener;
    if (watches++ != 0) return;
    for (const int number : kFaults) listen_to(number);
    for (const int number : kAsked) listen_to(number);
}

FaultWatch::~FaultWatch() {
    if (!listens_) return;
    const std::lock_guard lock(of_handlers());
    if (--watches != 0) return;
    for (const int number : kFaults) leave_alone(number);
    for (const int number : kAsked) leave_alone(number);
}

unsigned fork_generation() noexcept { return generation.load(std::memory_order_relaxed); }

}  // namespace backplane::base
