#include "machine_code.hpp"

#include <cstdio>
#include <string>

#include "common/cuda_functions.hpp"
#include "common/platform/system.hpp"
#include "platform/driver_registry.hpp"
#include "ptx.hpp"

namespace backplane::opencl {

// The driver's functions, those alone needed that are called here, and the device's context.
struct MachineCode::Cuda : cuda::Functions {
    int (*device_by_place)(cuda::DeviceNumber*, const char* pci) = nullptr;

    // False: a function is missing, or there is no driver.
    bool load() {
        std::string ignored;
        void* library = backend::open_library(kCudaName, ignored);
        if (library == nullptr) return false;
        look_up(library);
        device_by_place =
            reinterpret_cast<decltype(device_by_place)>(backend::find_function(library, "cuDeviceGetByPCIBusId"));
        return init != nullptr && device_by_place != nullptr && context_retain != nullptr && context_release != nullptr &&
               context_push != nullptr && context_pop != nullptr && link_create != nullptr && link_add != nullptr &&
               link_complete != nullptr && link_destroy != nullptr;
    }

    cuda::DeviceNumber device = 0;
    cuda::Context context = nullptr;
    bool retained = false;
};

MachineCode::MachineCode() : cuda_(std::make_unique<Cuda>()) {}

MachineCode::~MachineCode() {
    if (cuda_->retained) cuda_->context_release(cuda_->device);
}

std::unique_ptr<MachineCode> MachineCode::open(const PhysicalDevice& device) {
    std::unique_ptr<MachineCode> made(new MachineCode);
    Cuda& cuda = *made->cuda_;
    char place[32];
    std::snprintf(place, sizeof place, "%04x:%02x:%02x", device.pci[0], device.pci[1], device.pci[2]);
    cuda.retained = device.pci_known && cuda.load() && cuda.init(0) == 0 && cuda.device_by_place(&cuda.device, place) == 0 &&
                    cuda.context_retain(&cuda.context, cuda.device) == 0;
    return cuda.retained ? std::move(made) : nullptr;
}

std::vector<std::byte> MachineCode::of(std::span<const std::byte> ptx, uint32_t registers) const {
    constexpr int kInputPtx = 1;  // CU_JIT_INPUT_PTX
    const cuda::Current current(*cuda_, cuda_->context);
    std::vector<std::byte> code;
    cuda::Link link = nullptr;
    if (cuda_->link_create(0, nullptr, nullptr, &link) != 0) return code;
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
    return code;
}

}  // namespace backplane::opencl
