#include "base/peeked_input.hpp"

namespace backplane::base {

std::string peeked_input(size_t /*bytes*/) { return {}; }

}  // namespace backplane::base
