#include "machine_code.hpp"

#include <cstdio>
#include <string>

#include "common/platform/system.hpp"
#include "platform/driver_registry.hpp"
#include "ptx.hpp"

namespace backplane::opencl {

namespace {

using Device = int;
using Context = struct CudaContext*;
using Link = struct CudaLink*;

constexpr int kInputPtx = 1;  // CU_JIT_INPUT_PTX

}  // namespace

// Every function returns 0 for success. On 64-bit Windows, too, functions are called in one way only.
struct MachineCode::Cuda {
    int (*init)(unsigned flags) = nullptr;
    int (*device_by_place)(Device*, const char* pci) = nullptr;
    int (*retain)(Context*, Device) = nullptr;
    int (*release)(Device) = nullptr;
    int (*push)(Context) = nullptr;
    int (*pop)(Context*) = nullptr;
    int (*link_create)(unsigned count, int* options, void** values, Link*) = nullptr;
    int (*link_add)(Link, int kind, void* data, size_t, const char* name, unsigned, int*, void**) = nullptr;
    int (*link_complete)(Link, void** cubin, size_t*) = nullptr;
    int (*link_destroy)(Link) = nullptr;

    // False: a function is missing, or there is no driver.
    bool load() {
        std::string ignored;
        void* library = backend::open_library(kCudaName, ignored);
        if (library == nullptr) return false;
        const auto find = [&](auto& function, const char* name) {
            function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(backend::find_function(library, name));
            return function != nullptr;
        };
        return find(init, "cuInit") && find(device_by_place, "cuDeviceGetByPCIBusId") &&
               find(retain, "cuDevicePrimaryCtxRetain") && find(release, "cuDevicePrimaryCtxRelease_v2") &&
               find(push, "cuCtxPushCurrent_v2") && find(pop, "cuCtxPopCurrent_v2") &&
               find(link_create, "cuLinkCreate_v2") && find(link_add, "cuLinkAddData_v2") &&
               find(link_complete, "cuLinkComplete") && find(link_destroy, "cuLinkDestroy");
    }

    Device device = 0;
    Context context = nullptr;
    bool retained = false;
};

MachineCode::MachineCode() : cuda_(std::make_unique<Cuda>()) {}

MachineCode::~MachineCode() {
    if (cuda_->retained) cuda_->release(cuda_->device);
}

std::unique_ptr<MachineCode> MachineCode::open(const PhysicalDevice& device) {
    std::unique_ptr<MachineCode> made(new MachineCode);
    Cuda& cuda = *made->cuda_;
    char place[32];
    std::snprintf(place, sizeof place, "%04x:%02x:%02x", device.pci[0], device.pci[1], device.pci[2]);
    cuda.retained = device.pci_known && cuda.load() && cuda.init(0) == 0 && cuda.device_by_place(&cuda.device, place) == 0 &&
                    cuda.retain(&cuda.context, cuda.device) == 0;
    return cuda.retained ? std::move(made) : nullptr;
}

std::vector<std::byte> MachineCode::of(std::span<const std::byte> ptx, uint32_t registers) const {
    std::vector<std::byte> code;
    if (cuda_->push(cuda_->context) != 0) return code;
    Link link = nullptr;
    if (cuda_->link_create(0, nullptr, nullptr, &link) == 0) {
        const std::string given(reinterpret_cast<const char*>(ptx.data()), ptx.size());
        std::string text = with_registers(given.substr(0, given.find('\0')), registers);
        const size_t room = text.size() + 1;  // the linker wants a zero at the end
        void* made = nullptr;
        size_t size = 0;
        if (cuda_->link_add(link, kInputPtx, text.data(), room, "opencl", 0, nullptr, nullptr) == 0 &&
            cuda_->link_complete(link, &made, &size) == 0) {
            const auto* first = static_cast<const std::byte*>(made);
            code.assign(first, first + size);
        }
        cuda_->link_destroy(link);  // and what it made
    }
    Context ours = nullptr;
    cuda_->pop(&ours);
    return code;
}

}  // namespace backplane::opencl
