// What OpenCL's platforms say of their devices, without opening one.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "api.hpp"
#include "common/gpu/api.hpp"
#include "common/gpu/ptx_texts.hpp"
#include "common/hash.hpp"

namespace backplane::opencl {

using backend::hash_of;
using gpu::Abilities;

extern const gpu::KernelSource kKernels[];  // texts of OpenCL C 1.2, nothing included

extern const std::span<const gpu::PtxText> kPtxTexts;  // empty: the module was built without nvcc

struct PhysicalDevice : gpu::Facts {
    cl_platform_id platform = nullptr;
    cl_device_id handle = nullptr;
    bool says_free = false;     // cl_amd_device_attribute_query
    bool nvidia = false;        // cl_nv_device_attribute_query: binaries are PTX
    uint32_t architecture = 0;  // of NVIDIA's chips, 90 for compute capability 9.0
    // A buffer is named once: a launch takes longer with every other. Of other drivers it is not known whether they heed which arguments are written.
    bool named_once = false;
    // Of compute capability 8.0 or more: its compiler takes PTX in the text.
    [[nodiscard]] bool assembly() const { return architecture >= 80; }
};

class Instance {
public:
    // Never throws for a machine without OpenCL: devices() is empty then and why() says so.
    Instance();
    Instance(const Instance&) = delete;
    Instance& operator=(const Instance&) = delete;

    [[nodiscard]] const std::vector<PhysicalDevice>& devices() const { return devices_; }
    // Why there are no devices, or, beside devices, which registered drivers cannot be used; empty: all can.
    [[nodiscard]] const std::string& why() const { return why_; }
    [[nodiscard]] const Functions& functions() const { return functions_; }
    // Bytes that can still be allocated; 0: the driver does not say.
    [[nodiscard]] uint64_t free_bytes(const PhysicalDevice& device) const;

private:
    void list(cl_platform_id platform);

    Functions functions_;
    std::vector<PhysicalDevice> devices_;
    std::string why_;
};

}  // namespace backplane::opencl
