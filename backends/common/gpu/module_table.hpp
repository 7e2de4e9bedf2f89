// A backend of an Api as the classes of backend::ModuleTable.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "common/gpu/peak.hpp"
#include "common/gpu/program.hpp"
#include "common/gpu/sums.hpp"
#include "common/module_table.hpp"

namespace backplane::gpu {

template <Api A>
class Module {
public:
    using Device = gpu::Device<A>;
    using Program = gpu::Program<A>;
    using Buffer = HeldBuffer<A>;
    using Fence = gpu::Fence<A>;

    explicit Module(const bp_host& table) : host_(&table) {}

    static const void* extension(const char* id) {
        if (std::string_view(id) == BP_BENCH_PEAK) return PeakTable<A>::get();
        if constexpr (kHasSums<A>)
            if (std::string_view(id) == BP_SUMS) return SumsTable<A>::get();
        return nullptr;
    }

    uint32_t count() { return static_cast<uint32_t>(instance().devices().size()); }
    std::string why() { return instance().why(); }
    bp_device_info info(uint32_t index) {
        const typename A::Physical& d = instance().devices()[index];
        bp_device_info info = d;
        info.name = d.name.c_str();
        info.driver = d.driver.c_str();
        info.identity_known = (d.uuid_known ? uint32_t{BP_ID_UUID} : 0U) | (d.pci_known ? uint32_t{BP_ID_PCI} : 0U) |
                              (d.luid_known ? uint32_t{BP_ID_LUID} : 0U);
        info.pci_domain = d.pci[0], info.pci_bus = d.pci[1], info.pci_device = d.pci[2], info.pci_function = d.pci[3];
        info.fingerprint[0] = d.fingerprint, info.fingerprint[1] = hash_of(A::kernels());
        info.capabilities = BP_CAN_ASYNC | (d.can.import ? uint32_t{BP_CAN_IMPORT_HOST} : 0U) |
                            (d.can.unified ? uint32_t{BP_CAN_MAP} : 0U) | (d.peers ? uint32_t{BP_CAN_PEER} : 0U);
        info.memory_free = instance().free_bytes(d);
        info.memory_source = d.memory_source.c_str();
        info.max_buffer = d.can.most_allocation;
        info.dtypes = 1U << BP_F32 | 1U << BP_I32;
        if (d.can.halves) info.dtypes |= 1U << BP_F16;
        if (d.can.bytes) info.dtypes |= 1U << BP_BF16 | backplane::ops::kBlocks;
        if (d.can.longs) info.dtypes |= 1U << BP_I64;
        info.features = d.features.c_str();
        info.warning = d.warning.empty() ? nullptr : d.warning.c_str();
        return info;
    }
    std::unique_ptr<Device> open(uint64_t id) {
        const typename A::Instance& all = instance();
        for (const auto& d : all.devices())
            if (d.id == id) return std::make_unique<Device>(host_, all, d);
        throw sdk::Failure(BP_NOT_FOUND, std::string("device_open: there is no ") + A::kName + " device " +
                                             std::to_string(id) +
                                             (all.devices().empty() ? "; " + all.why() : "; list the devices again"));
    }

private:
    // Opened when first asked for: loading the module touches no driver.
    const typename A::Instance& instance() {
        // Drivers that are started by two threads at once have been seen to crash (PoCL 3.1).
        static std::mutex one_at_a_time;
        const std::lock_guard lock(one_at_a_time);
        if (opened_ == nullptr) opened_ = std::make_unique<typename A::Instance>();
        return *opened_;
    }

    backend::Host host_;
    std::unique_ptr<typename A::Instance> opened_;
};

template <Api A>
using ModuleTable = backend::ModuleTable<Module<A>>;

}  // namespace backplane::gpu
