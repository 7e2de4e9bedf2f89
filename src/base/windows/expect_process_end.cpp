#include <cstdlib>

#include "base/process_end.hpp"

namespace backplane::base {

// Static objects of a DLL are destroyed when the system takes it out of the process, after all handlers: one handler does for all.
ExpectProcessEnd::ExpectProcessEnd() noexcept {
    static const int once = std::atexit(note_process_is_ending);
    over_ = once != 0;
}

ExpectProcessEnd::~ExpectProcessEnd() = default;

}  // namespace backplane::base
