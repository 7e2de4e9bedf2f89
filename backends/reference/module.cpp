// What the module says of itself and of its device; the functions of its table are common/module_table.hpp.
#include <memory>
#include <string>

#include "common/host.hpp"
#include "common/module_table.hpp"
#include "handles.hpp"
#include "program.hpp"

namespace backplane::reference {

namespace {

constexpr uint64_t kDevice = 1;  // ids need to be stable only while the module is open

// One per open(). Nothing is global: the same file may be opened many times.
class Module {
public:
    using Device = reference::Device;
    using Program = reference::Program;
    using Buffer = reference::Buffer;
    using Fence = backend::HostQueues::Fence;

    explicit Module(const bp_host& host) : host_(&host) {}

    static uint32_t count() { return 1; }
    static std::string why() { return {}; }
    static bp_device_info info(uint32_t) {
        bp_device_info info{};
        info.kind = BP_KIND_SOFTWARE;
        info.id = kDevice;
        info.name = "float64 reference";
        // Yours: driver, PCI address or UUID, memory, so that the host can tell which chip this is and what fits.
        info.capabilities = BP_CAN_IMPORT_HOST | BP_CAN_MAP | BP_CAN_ASYNC | BP_CAN_SYMBOLS;
        info.queues = Device::kQueues;
        info.copy_queues = Device::kCopyQueues;
        for (uint32_t dtype = BP_F32; dtype <= BP_Q8_K; ++dtype) info.dtypes |= uint64_t{1} << dtype;
        info.units = 1;
        info.warning = "computes in float64 to check other backends, very slowly";
        return info;
    }
    [[nodiscard]] std::unique_ptr<Device> open(uint64_t id) const {
        if (id != kDevice)
            throw sdk::Failure(BP_NOT_FOUND,
                               "cannot open device " + std::to_string(id) + ": the reference has device 1 only");
        return std::make_unique<Device>(host_, host_.lose_after("reference"));
    }

    // Errors of the graph layer are the module's own.
    template <typename Body>
    static void as_failures(const Body& body) {
        try {
            body();
        } catch (const Error& e) {
            throw sdk::Failure(static_cast<bp_code>(e.code()), e.what());
        }
    }

private:
    backend::Host host_;
};

}  // namespace
}  // namespace backplane::reference

// The entry: pure, callable at any time from any thread.
extern "C" const bp_module_api* backplane_reference(uint32_t host_abi);
const bp_module_api* backplane_reference(uint32_t host_abi) {
    return backplane::backend::ModuleTable<backplane::reference::Module>::entry(host_abi);
}
