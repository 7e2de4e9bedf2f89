// NVIDIA's OpenCL hands out a program as PTX, of which it makes machine code anew in each process: most of the time a kernel takes to build. Its
// CUDA driver makes the same machine code of the same text and hands it out (a cubin), and the OpenCL driver takes that for a binary.
// Source: CUDA Driver API, "Module Management" (cuLink*).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "instance.hpp"

namespace backplane::opencl {

// The CUDA driver with the memory that its context takes on the device: to be let go when nothing is left to build.
class MachineCode {
public:
    // Null: there is no CUDA driver beside the OpenCL one, or it does not know the device.
    static std::unique_ptr<MachineCode> open(const PhysicalDevice& device);
    MachineCode(const MachineCode&) = delete;
    MachineCode& operator=(const MachineCode&) = delete;
    ~MachineCode();

    // Of the PTX of a program of one kernel, of which as many workgroups run at a time as with these registers a thread, those it has in the
    // OpenCL driver's: left to itself the linker takes up to twice as many. Empty: the driver does not make it. [any]
    [[nodiscard]] std::vector<std::byte> of(std::span<const std::byte> ptx, uint32_t registers) const;

private:
    MachineCode();
    struct Cuda;
    std::unique_ptr<Cuda> cuda_;
};

}  // namespace backplane::opencl
