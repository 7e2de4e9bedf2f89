// What the input stream begins with, for who must know it before somebody else reads it.
#pragma once

#include <cstddef>
#include <string>

namespace backplane::base {

// The first bytes of a pipe or a file, which stay in it; waits for them. Fewer, or none, where it ends before, where the input stream is neither, and
// where the system has no such call.
std::string peeked_input(size_t bytes);

}  // namespace backplane::base
