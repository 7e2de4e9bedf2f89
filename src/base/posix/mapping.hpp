// What is mapped at an address of this process.
#pragma once

#include <cstdint>
#include <filesystem>

namespace backplane::base {

struct Mapping {
    std::filesystem::path path;
    unsigned major = 0, minor = 0;
    uint64_t inode = 0;  // 0: none found
};
// As the kernel tells it: nothing where /proc is not mounted.
Mapping mapping_at(uintptr_t address);

}  // namespace backplane::base
