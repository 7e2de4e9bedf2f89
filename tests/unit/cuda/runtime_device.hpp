// A card of the scripted driver as the runtime has it: the backend's own table behind a Device.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

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

}  // namespace backplane::cuda::scripted
