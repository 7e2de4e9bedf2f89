// How many of the files that are cut or changed at a byte are read here: one byte in so many, for a file below Wine takes ten milliseconds.
#pragma once

#include <cstddef>

namespace backplane::test {

inline constexpr std::size_t kEvery = 13;

}  // namespace backplane::test
