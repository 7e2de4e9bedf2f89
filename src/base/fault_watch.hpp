// Hears of the signals that are about to end this process, without changing how it ends.
#pragma once

namespace backplane::base {

enum class Ending {
    fault,  // the program did something that cannot be done, or gave up: SIGSEGV, SIGABRT and the like
    asked,  // somebody wants it to end: SIGINT, SIGTERM and the like
};

// Called in a signal handler, on the thread that the signal came to.
using EndingListener = void (*)(Ending ending, int signal) noexcept;

// While one of these lives, signals of which nobody has said otherwise (their action is the default one) are heard of first, and then have
// their default action as if they had not been: the same exit status, the same core file. A handler that somebody sets later stays, and is not
// called by this. Made and destroyed on any thread; the listener is the same for all. Nothing on Windows.
class FaultWatch {
public:
    explicit FaultWatch(EndingListener listener);  // null: hears of nothing, and only counts forks
    ~FaultWatch();
    FaultWatch(const FaultWatch&) = delete;
    FaultWatch& operator=(const FaultWatch&) = delete;

private:
    bool listens_;
};

// Once for each thread that is to be heard of when it runs out of its stack: the handler then has another one to run on. Costs 64 KiB until the
// thread ends. A thread that has one already keeps it. Nothing on Windows.
void make_room_for_handlers() noexcept;

// The number of fork()s between the first FaultWatch of a program and this process: what was made under another number is its parent's.
unsigned fork_generation() noexcept;

}  // namespace backplane::base
