// Does an initialised module fit the libggml-base it meets? Its tables are compared with what the base expects of them.
#pragma once

#include <functional>
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

struct CheckedModule {
    std::vector<FoundDevice> devices;  // none: it may get some later (RPC), or finds nothing to drive here
    bool proven = false;  // it did something that only a module of this very tensor and these op numbers does right
};

// The devices of an initialised module, after all its tables were compared with what `base` expects, and (where a device is cheap to open:
// a CPU) its ops computed. `step` hears of what may crash before it is done. Throws sdk::Failure: BP_VERSION when it does not fit.
CheckedModule check_module(const BaseLibrary& base, Registration* registration, const fs::path& file,
                           const std::function<void(const std::string&)>& step = {});

// Throws sdk::Failure(BP_VERSION) unless this CPU device computes, under the numbers that `base` gives them, an op of the end of each
// enumeration of ops. False: it could not be asked.
bool check_op_numbers(const BaseLibrary& base, Device* device, Backend* backend,
                      const std::function<void(const std::string&)>& step);

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
