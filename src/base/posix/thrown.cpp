#include "base/thrown.hpp"

#include <cxxabi.h>

namespace backplane::base {

// Within a handler.
void pass_on_the_end_of_a_thread() {
    try {
        throw;
    } catch (const abi::__forced_unwind&) {
        throw;
    } catch (...) {
        // an exception like any other: its catcher reads it
    }
}

}  // namespace backplane::base
