// The text that NVIDIA's OpenCL gives for a program's binary (Parallel Thread Execution ISA), and what its compiler says of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace backplane::opencl {

// Whether these bytes are PTX; they may end in zeros.
bool is_ptx(std::span<const std::byte> bytes);

// The registers a thread has, as the log of a build with -cl-nv-verbose says; 0: it does not (the driver had the program in a cache of its
// own). The most, where there are several kernels.
uint32_t registers_in(const std::string& build_log);

// The PTX of one kernel with a directive that limits its registers: as many as leave room for the same number of workgroups at a time as these
// do. The limit of a kernel that does not say the size of its workgroup stays as it is. (An option of the linker would yield to the
// directives that are there.)
std::string with_registers(std::string ptx, uint32_t registers);

}  // namespace backplane::opencl
