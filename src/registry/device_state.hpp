// What a Device handle shares: the open device of a module, and the lock that serialises its [device] calls (module.h).
#pragma once

#include <memory>
#include <mutex>

#include "backplane/context.hpp"

namespace backplane {

namespace registry {
class Module;  // a loaded or linked-in module: keeps its library mapped and its bp_module open
}

struct Device::State {
    State() = default;
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    ~State();  // device_close

    DeviceInfo info;
    const bp_module_api* api = nullptr;
    bp_device* handle = nullptr;
    std::mutex device_mutex;                   // held around pack, run and copy
    std::shared_ptr<registry::Module> module;  // destroyed after the device
};

}  // namespace backplane
