// What the module carries of machine code, and which of it a chip runs.
#pragma once

#include <cstdint>
#include <span>

namespace backplane::opencl {

struct CarriedKernel {
    uint32_t kernel;
    const char* entry;       // in each of the codes
    uint32_t constants[12];  // all of them
};
struct CarriedCode {
    uint32_t architecture;  // 90: compute capability 9.0
    const unsigned char *first, *end;
};
extern const std::span<const CarriedKernel> kCarriedKernels;
extern const std::span<const CarriedCode> kCarriedCodes;
extern const uint32_t kCarriedDriver;  // the least, 580 for 580.65

// The code that a chip runs: of its own major version, the latest that is no later than it; null: none. 0, the chip is not NVIDIA's: the first.
inline const CarriedCode* carried_code_for(std::span<const CarriedCode> codes, uint32_t architecture) {
    const CarriedCode* best = nullptr;
    for (const CarriedCode& code : codes) {
        if (architecture == 0) return &code;
        if (code.architecture / 10 == architecture / 10 && code.architecture <= architecture &&
            (best == nullptr || best->architecture < code.architecture))
            best = &code;
    }
    return best;
}

}  // namespace backplane::opencl
