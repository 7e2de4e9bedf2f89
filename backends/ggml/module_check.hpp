// Does an initialised module fit the libggml-base it meets? Its tables are compared with what the base expects of them.
#pragma once

#include <string>
#include <vector>

#include "base_library.hpp"

namespace backplane::ggml {

// A device of an open module. Everything it points to lives until the process ends.
struct FoundDevice {
    Device* device = nullptr;
    Registration* registration = nullptr;
    DeviceProps props{};
    std::string module;    // "libggml-cpu-zen4.so"
    std::string features;  // "avx2 fma"
};

// The devices of an initialised module, after all its tables were compared with what `base` expects. Throws sdk::Failure.
std::vector<FoundDevice> check_module(const BaseLibrary& base, Registration* registration, const fs::path& file);

// Whether a device that ggml takes for a GPU is a rasteriser on the processor: its Vulkan module offers those when it is told to
// (GGML_VK_VISIBLE_DEVICES).
bool is_software(const DeviceProps& props);

// The processor's features that a module says it uses, as the kernel names them. Empty: it does not say.
std::vector<std::string> cpu_features_of(const BaseLibrary& base, Registration* registration);

// Throws sdk::Failure(BP_VERSION) unless the tables behind these handles have the shape that `base` expects.
void check_device_table(const BaseLibrary& base, Device* device, const Registration* registration);
void check_backend_table(const BaseLibrary& base, Backend* backend, const Device* device);
void check_buffer_table(const BaseLibrary& base, Buffer* buffer, const BufferType* type);

}  // namespace backplane::ggml
