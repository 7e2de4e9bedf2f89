// Chooses the kernels of the best instruction set that this CPU has and the mask leaves.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernels/kernels.h"

namespace backplane::cpu {

struct Level {
    std::string name;
    Kernels kernels{};
};

// Levels of this build, weakest first.
std::vector<std::string> built_levels();
// The best usable level. `mask`: features or level names that must not be used, separated by commas or spaces ("avx512,fma").
Level choose_level(std::string_view mask);

}  // namespace backplane::cpu
