// What CUDA's driver says of its devices, without opening one, and the kernels as the module carries them.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/gpu/api.hpp"
#include "common/hash.hpp"
#include "driver.hpp"
#include "nccl.hpp"

namespace backplane::cuda {

using backend::hash_of;
using gpu::Abilities;

extern const gpu::KernelSource kKernels[];  // whose texts are hashes of their machine code

// A file of machine code: every instance of every variant of a kernel (compile.cmake).
struct Code {
    const unsigned char* first = nullptr;
    const unsigned char* end = nullptr;
};

// The PTX of one instance, of the texts of all instances of a source, which lie packed together (unpack.hpp).
struct Part {
    size_t begin = 0, end = 0;
};

constexpr size_t kConstantWords = 12;  // of a kernel, at most

// One way a kernel was compiled: bit n of `fixed`: constant n is values[n]. What is not fixed the host starts the kernel with.
struct KernelInstance {
    uint32_t fixed;
    uint32_t values[kConstantWords];
    uint32_t shared = 0;  // bytes that the host asks for beside those the kernel declares
};
struct Image {
    Code code;
    const KernelInstance* instances = nullptr;
    size_t count = 0;
    uint32_t only = 0;            // 90: machine code of this compute capability alone
    Code texts;                   // packed
    const Part* parts = nullptr;  // of `texts`, for each instance; null: there is none
};
extern const Image kImages[];            // one for each gpu::Kernel
extern const uint32_t kArchitectures[];  // 75, 80: what there is machine code for
extern const size_t kArchitectureCount;
extern const bool kHasWarpgroups;  // kernels of compute capability 9.0 alone are there
extern const uint32_t kToolkit;    // 13000: the version of the compiler

// The instance for these constants; `count` when there is none.
size_t find_instance(const Image& image, std::span<const uint32_t> constants);

struct PhysicalDevice : gpu::Facts {
    DeviceNumber number = 0;
    bool starts_early = false;  // its kernels wait by themselves for those before them (kernels/prelude.h, HEAD)
    bool compiles = false;      // no machine code fits: the driver makes it of PTX
    // The context while the device is open: without one the driver does not say how much memory is free.
    std::shared_ptr<std::atomic<Context>> context = std::make_shared<std::atomic<Context>>(nullptr);
};

class Instance {
public:
    // Never throws for a machine without CUDA: devices() is empty then and why() says so.
    Instance();
    Instance(const Instance&) = delete;
    Instance& operator=(const Instance&) = delete;

    [[nodiscard]] const std::vector<PhysicalDevice>& devices() const { return devices_; }
    [[nodiscard]] const std::string& why() const { return why_; }
    [[nodiscard]] const Driver& driver() const { return driver_; }
    [[nodiscard]] Nccl& nccl() const { return *nccl_; }
    // Bytes that can still be allocated, while the device is open; 0: not known.
    [[nodiscard]] uint64_t free_bytes(const PhysicalDevice& device) const;

private:
    Driver driver_;
    std::unique_ptr<Nccl> nccl_ = std::make_unique<Nccl>(driver_);
    std::vector<PhysicalDevice> devices_;
    std::string why_;
};

}  // namespace backplane::cuda
