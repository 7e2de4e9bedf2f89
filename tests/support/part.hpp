// Of what a driver takes minutes to build kernels for, a run may do a part: BACKPLANE_POCL_PART=2/3 is every third from the second on, and .ci/run goes
// round the parts from commit to commit. Without it everything is done.
#pragma once

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace backplane::test {

struct RunPart {
    size_t number = 1, parts = 1;
    [[nodiscard]] bool is_all() const { return parts == 1; }
    [[nodiscard]] bool has(size_t index) const { return index % parts == (number - 1) % parts; }
};

inline RunPart part_of_this_run() {
    RunPart part;
    const char* text = std::getenv("BACKPLANE_POCL_PART");
    if (text == nullptr || std::sscanf(text, "%zu/%zu", &part.number, &part.parts) != 2 || part.parts == 0) return {};
    return part;
}

// What a run does of what a device builds kernels for: of an OpenCL driver, which here is PoCL, its part; of a Vulkan driver, here lavapipe, which
// takes less time for the same kernels, twice as much; of any other all.
inline RunPart part_of(const std::string& device, RunPart part) {
    if (device.rfind("opencl", 0) == 0) return part;
    if (device.rfind("vulkan", 0) == 0) return {part.number, (part.parts + 1) / 2};
    return {};
}

}  // namespace backplane::test
