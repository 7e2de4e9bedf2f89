// The table of the build's kernels and instances without their machine code, of a compiler that the tests are written for and for the cards of a
// release (`all` in backends/cuda/CMakeLists.txt).
#include "kernel_table.inc"

namespace backplane::cuda {
const uint32_t kArchitectures[] = {75, 80, 90, 100, 120};
const size_t kArchitectureCount = 5;
const bool kHasWarpgroups = true;
const uint32_t kToolkit = 12080;
}  // namespace backplane::cuda
