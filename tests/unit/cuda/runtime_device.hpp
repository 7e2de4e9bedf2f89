// Cards of the scripted driver as the runtime has them: the backend's own table behind a Device.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "registry/device_state.hpp"

namespace backplane::cuda::scripted {

// `table`, `module` and `guarded` live as long as the device.
inline backplane::Device runtime_device(const bp_module_api& table, bp_module* module, const registry::Guarded& guarded,
                                        const bp_device_info& info, std::string id) {
    auto state = std::make_shared<backplane::Device::State>();
    EXPECT_EQ(table.device_open(module, info.id, &state->handle, nullptr), BP_OK);
    state->info.id = std::move(id);
    state->info.memory_total = info.memory_total;
    state->info.capabilities = Flags<Capability>(info.capabilities);
    state->info.queues = std::max(info.queues, 1U);
    state->info.copy_queues = info.copy_queues;
    state->api = &table;
    state->in_its_place = &guarded;
    return DeviceAccess::handle(std::move(state));
}

// The first `many` that the module lists, as cuda:0, cuda:1 ...
inline std::vector<backplane::Device> runtime_devices(const bp_module_api& table, bp_module* module,
                                                      const registry::Guarded& guarded, uint32_t many) {
    std::vector<bp_device_info> infos(many);
    for (bp_device_info& info : infos) info.struct_size = BP_SIZE(bp_device_info, copy_queues);
    const bp_array array{infos.data(), many, sizeof(bp_device_info)};
    uint32_t count = 0;
    EXPECT_EQ(table.list(module, &array, &count, nullptr), BP_OK);
    std::vector<backplane::Device> devices;
    for (const bp_device_info& info : infos)
        devices.push_back(runtime_device(table, module, guarded, info, "cuda:" + std::to_string(devices.size())));
    return devices;
}

}  // namespace backplane::cuda::scripted
