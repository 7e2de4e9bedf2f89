// What was thrown, in words.
#pragma once

#include <string>

namespace backplane::base {

// For the body of a `catch (...)`: what the exception says, or what kind it is. The end of a thread (pthread_cancel, pthread_exit), which
// travels like an exception on some systems, is passed on: it is nobody's to keep.
std::string words_of_exception();

// The second half of that alone.
void pass_on_the_end_of_a_thread();

}  // namespace backplane::base
