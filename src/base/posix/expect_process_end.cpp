#include <cxxabi.h>

#include "base/process_end.hpp"

namespace backplane::base {

// Handlers and destructors of static objects run in one order, the last registered first: this one right before those of the library.
// It is registered as that of a library whose handle is this object, because such a one can be taken back.
ExpectProcessEnd::ExpectProcessEnd() noexcept {
    abi::__cxa_atexit(
        [](void* self) {
            if (!static_cast<const ExpectProcessEnd*>(self)->over_) note_process_is_ending();
        },
        this, this);
}

ExpectProcessEnd::~ExpectProcessEnd() {
    if (process_is_ending()) return;
    over_ = true;
    abi::__cxa_finalize(this);  // calls it, and forgets it
}

}  // namespace backplane::base
