#include "instance.hpp"

#include <algorithm>

#include "common/platform/registrations.hpp"
#include "common/platform/system.hpp"
#include "describe.hpp"
#include "platform/driver_registry.hpp"

namespace backplane::opencl {

namespace {

// GPUs before CPUs, whatever the order of the platforms.
uint32_t rank_of(uint32_t kind) {
    switch (kind) {
        case BP_KIND_DISCRETE: return 0;
        case BP_KIND_INTEGRATED: return 1;
        case BP_KIND_ACCELERATOR: return 2;
        case BP_KIND_CPU: return 3;
        default: return 4;
    }
}

// Variables by which drivers leave devices out; empty: none is set.
std::string hidden_by() {
    const std::string out = backend::variables(
        {"POCL_DEVICES", "CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", "ZE_AFFINITY_MASK"});
    return out.empty() ? out : "the driver may leave devices out because of " + out;
}

}  // namespace

Instance::Instance() {
    void* loader = backend::open_loader("OpenCL", kLoaderName, "clGetPlatformIDs", kLoaderAdvice, why_);
    if (loader == nullptr) return;
    Functions& cl = functions_;
#define BP_CL_FIND(name)                                                                       \
    cl.name = reinterpret_cast<decltype(cl.name)>(backend::find_function(loader, "cl" #name)); \
    if (cl.name == nullptr && why_.empty())                                                    \
        why_ = std::string(kLoaderName) + " has no cl" #name ": OpenCL 1.2 is needed; update it";
    BP_CL_FUNCTIONS(BP_CL_FIND)
#undef BP_CL_FIND
    if (!why_.empty()) return;
    cl_uint count = 0;
    cl_int result = cl.GetPlatformIDs(0, nullptr, &count);
    std::vector<cl_platform_id> platforms(count);
    if (result == CL_SUCCESS && count != 0) result = cl.GetPlatformIDs(count, platforms.data(), nullptr);
    if (result != CL_SUCCESS || count == 0) {
        why_ = result == CL_SUCCESS || result == CL_PLATFORM_NOT_FOUND_KHR
                   ? why_no_platform()
                   : "asking the OpenCL loader for its platforms failed with " + name_of(result) + "; see the driver's log";
        return;
    }
    for (cl_platform_id platform : platforms) list(platform);
    std::stable_sort(devices_.begin(), devices_.end(),
                     [](const auto& a, const auto& b) { return rank_of(a.kind) < rank_of(b.kind); });
    gpu::make_ids_unique(devices_);
    if (!devices_.empty()) why_ = broken_drivers();
}

void Instance::list(cl_platform_id platform) {
    const Functions& cl = functions();
    const auto note = [&](const std::string& text) { why_ += (why_.empty() ? "" : "; ") + text; };
    const std::string name = "platform " + platform_text(cl, platform, CL_PLATFORM_NAME);
    cl_uint count = 0;
    cl_int result = cl.GetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count);
    std::vector<cl_device_id> handles(count);
    if (result == CL_SUCCESS && count != 0)
        result = cl.GetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, handles.data(), nullptr);
    if (result == CL_DEVICE_NOT_FOUND || (result == CL_SUCCESS && count == 0)) {
        const std::string hidden = hidden_by();
        const std::string reason = hidden.empty() ? backend::why_no_device_file() : hidden + "; unset the variable";
        return note(name + " has no device" + (reason.empty() ? "" : ": " + reason));
    }
    if (result != CL_SUCCESS)
        return note(name + " does not list its devices (" + name_of(result) + "); see the driver's log");
    for (cl_device_id handle : handles) {
        PhysicalDevice device;
        device.platform = platform;
        device.handle = handle;
        if (const std::string fault = describe(cl, device); !fault.empty()) {
            note(device.name + " of " + name + " is left out: " + fault);
            continue;
        }
        devices_.push_back(std::move(device));
    }
}

uint64_t Instance::free_bytes(const PhysicalDevice& device) const {
    constexpr cl_device_info kAmdFreeMemory = 0x4039;  // in KiB: the total, and the largest block
    size_t free[2] = {};
    if (!device.says_free ||
        functions().GetDeviceInfo(device.handle, kAmdFreeMemory, sizeof free, free, nullptr) != CL_SUCCESS)
        return 0;
    return uint64_t{free[0]} * 1024;
}

}  // namespace backplane::opencl
