// What is expected of each module of the zoo (animals.cpp), which the platform decides in part (posix/animals.cpp, windows/animals.cpp).
#pragma once

#include <ostream>
#include <vector>

#include "backplane/context.hpp"

namespace backplane {

struct Animal {
    const char* fault;
    Verdict verdict;
    ReasonCode code;
    const char* words;  // in the reason
};

inline std::ostream& operator<<(std::ostream& out, const Animal& a) { return out << a.fault; }

std::vector<Animal> all_animals();
// Those that not every platform can have, or of which each says something else.
std::vector<Animal> animals_of_this_platform();

}  // namespace backplane
