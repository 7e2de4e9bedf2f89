#include "base/thrown.hpp"

namespace backplane::base {

// Threads end without unwinding here.
void pass_on_the_end_of_a_thread() {}

}  // namespace backplane::base
