// How many of the files that are cut or changed at a byte are read here: every byte.
#pragma once

#include <cstddef>

namespace backplane::test {

inline constexpr std::size_t kEvery = 1;

}  // namespace backplane::test
