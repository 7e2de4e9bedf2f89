// The table of the build's kernels and instances without their machine code, of a compiler and for cards that the tests are written for.
#include "kernel_table.inc"

namespace backplane::cuda {
const uint32_t kArchitectures[] = {75, 80, 90};
const size_t kArchitectureCount = 3;
const bool kHasWarpgroups = true;
const uint32_t kToolkit = 12080;
}  // namespace backplane::cuda
