#include "base/fault_watch.hpp"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

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

// A signal's frame with all registers of the largest machines there are takes 12 KiB.
constexpr size_t kRoomForHandlers = size_t{64} << 10;

void give_room_back(void* memory) {
    stack_t now{};
    if (::sigaltstack(nullptr, &now) == 0 && now.ss_sp == memory) {
        stack_t none{};
        none.ss_flags = SS_DISABLE;
        ::sigaltstack(&none, nullptr);
    }
    ::munmap(memory, kRoomForHandlers);
}

// Not a thread_local with a destructor: that would keep this library mapped for as long as the thread lives.
class AtEndOfThread {
public:
    AtEndOfThread() : made_(::pthread_key_create(&key_, give_room_back) == 0) {}
    ~AtEndOfThread() {
        if (made_) ::pthread_key_delete(key_);
    }
    AtEndOfThread(const AtEndOfThread&) = delete;
    AtEndOfThread& operator=(const AtEndOfThread&) = delete;
    bool give_back(void* memory) const { return made_ && ::pthread_setspecific(key_, memory) == 0; }

private:
    pthread_key_t key_{};
    bool made_;
};

void make_room() noexcept {
    static const AtEndOfThread at_end;
    stack_t now{};
    if (::sigaltstack(nullptr, &now) != 0 || (now.ss_flags & SS_DISABLE) == 0) return;
    void* memory = ::mmap(nullptr, kRoomForHandlers, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return;
    stack_t room{};
    room.ss_sp = memory;
    room.ss_size = kRoomForHandlers;
    if (::sigaltstack(&room, nullptr) != 0)
        ::munmap(memory, kRoomForHandlers);
    else if (!at_end.give_back(memory))
        give_room_back(memory);
}

}  // namespace

void make_room_for_handlers() noexcept {
    thread_local bool done = false;
    if (done) return;
    done = true;
    make_room();
}

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
