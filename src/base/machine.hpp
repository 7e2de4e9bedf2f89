// The machine that this is compiled for, by the numbers that files of each format give it.
#pragma once

#include <cstdint>

namespace backplane::base {

struct Machine {
    uint32_t elf = 0;    // e_machine; 0: not known
    uint32_t pe = 0;     // Machine of the COFF header
    uint32_t macho = 0;  // cputype
};
Machine this_machine() noexcept;

}  // namespace backplane::base
