// Undoing what a library does to the whole process while it is loaded.
#pragma once

#include <memory>

namespace backplane::base {

// When it goes, puts back what was there when it was made: timers, soft limits, the standard streams, the mask of new files, the locale;
// of the calling thread the mask of signals, the processors it may run on and the floating-point environment. What did not change is not
// touched. Costs some thirty system calls, and reads what other threads change meanwhile as if the library had: for libraries that are
// known to do such things.
class KeepProcessState {
public:
    KeepProcessState();
    ~KeepProcessState();
    KeepProcessState(const KeepProcessState&) = delete;
    KeepProcessState& operator=(const KeepProcessState&) = delete;

private:
    struct Kept;
    std::unique_ptr<Kept> kept_;
};

}  // namespace backplane::base
