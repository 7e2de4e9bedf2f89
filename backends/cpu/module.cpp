// What the module says of itself and of its device; the functions of its table are common/module_table.hpp.
#include "common/module_table.hpp"

#include "cpu_features.hpp"
#include "device.hpp"
#include "extensions.hpp"
#include "processors.hpp"
#include "program.hpp"

namespace backplane::cpu {

namespace {

class Module {
public:
    using Device = cpu::Device;
    using Program = cpu::Program;
    using Buffer = cpu::Buffer;
    using Fence = backend::HostQueues::Fence;

    explicit Module(const bp_host& table)
        : host_(&table),
          level_(choose_level(host_.option("host.cpu-mask"))),
          name_(processor_name()),
          units_(usable_threads()) {}

    static const void* extension(const char* id) { return find_extension(id); }

    static uint32_t count() { return 1; }
    static std::string why() { return {}; }
    [[nodiscard]] bp_device_info info(uint32_t) const {
        const Memory memory = system_memory();
        bp_device_info info{};
        info.kind = BP_KIND_CPU;
        info.id = 1;
        info.name = name_.c_str();
        info.fingerprint[0] = layout_id(level_.name);
        info.fingerprint[1] = layout_id(name_);
        info.capabilities = BP_CAN_IMPORT_HOST | BP_CAN_MAP | BP_CAN_ASYNC | BP_CAN_PEER;
        info.queues = Device::kQueues;
        info.copy_queues = copy_queues();
        info.memory_total = memory.total;
        info.memory_free = memory.available;
        info.memory_source = memory.source;
        info.dtypes = 1u << BP_F32 | 1u << BP_F16 | 1u << BP_BF16 | 1u << BP_F64;
        info.units = units_;
        info.features = level_.name.c_str();
        return info;
    }
    [[nodiscard]] std::unique_ptr<Device> open(uint64_t id) const {
        if (id != 1) throw sdk::Failure(BP_NOT_FOUND, "device_open: the cpu backend has no device " + std::to_string(id));
        const uint32_t threads = host_.number("cpu.threads", 1, kMostThreads, units_);
        const uint32_t lose_after = host_.lose_after("cpu");
        const uint32_t cores = level_.kernels.tiles.run != nullptr ? usable_cores() : units_;  // nothing else asks for them
        return std::make_unique<Device>(host_, level_, threads, copy_queues(), lose_after, cores);
    }

private:
    // Copies move bytes beside a run where there is a processor for them.
    [[nodiscard]] uint32_t copy_queues() const { return units_ > 1 ? 1 : 0; }

    Host host_;
    Level level_;
    std::string name_;
    uint32_t units_;
};

}  // namespace
}  // namespace backplane::cpu

extern "C" const bp_module_api* backplane_cpu(uint32_t host_abi);
const bp_module_api* backplane_cpu(uint32_t host_abi) {
    return backplane::backend::ModuleTable<backplane::cpu::Module>::entry(host_abi);
}
