// What a Device handle shares: the open device of a module. The plan layer serialises its [queue] calls (module.h).
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "backplane/context.hpp"
#include "base/errors.hpp"
#include "registry/module.hpp"

namespace backplane {

struct Device::State {
    State() = default;
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    ~State();  // device_close

    DeviceInfo info;
    uint64_t id = 0;                     // the module's
    const bp_module_api* api = nullptr;  // which functions there are: for BP_HAS
    bp_device* handle = nullptr;
    std::atomic<uint32_t> buffers{0}, programs{0};    // alive on it, for whom unload() refuses
    std::atomic<uint32_t> options_set{0};             // how often: what was compiled before may be compiled otherwise now
    std::atomic<uint64_t> memory_limit{0};            // bytes of its first heap, of limit_memory(); 0: none
    std::shared_ptr<registry::Module> module;         // keeps its library mapped and open; destroyed after the device
    const registry::Guarded* in_its_place = nullptr;  // tests: functions that stand in for the module's
    bool drives_a_driver = false;                     // its module asks for a trial in a child process
    std::filesystem::path state_folder;               // of its context; empty: nothing is remembered
    bool no_numbers = false;                          // "host.fresh-memory=nan": memory that nobody wrote is NaN
    std::mutex above_mutex;                           // of the two that follow
    std::weak_ptr<void> above;                        // what the layers above keep one of for each device
    std::shared_ptr<void> costs;                      // what they have read of what work costs on it

    [[nodiscard]] const registry::Guarded& guarded() const noexcept {
        return in_its_place != nullptr ? *in_its_place : module->guarded();
    }
    // Calls a function of the device's module: Guarded::call.
    template <auto Function, class... Arguments>
    [[nodiscard]] bp_code call(base::ErrorRoom& error, Arguments... arguments) const {
        return guarded().call<Function>(error, arguments...);
    }

    // A table of the device's module by its name; null: it has none.
    [[nodiscard]] const void* extension(const char* name) const {
        if (in_its_place == nullptr) return module->extension(name);
        return BP_HAS(api, extension) ? in_its_place->extension(nullptr, name) : nullptr;
    }

    // A device that is lost stays so: every later use answers Error(device_lost) at once, without a call of the module.
    void lose(const std::string& why);
    [[nodiscard]] bool lost() const noexcept { return lost_.load(std::memory_order_acquire); }
    void expect_there(std::string_view what) const;  // throws Error(device_lost), "what: why"
    // base::check, which also notes that the device was lost.
    void check(bp_code code, std::string_view what, const base::ErrorRoom& room);
    // What a call that went well has made is there: else throws Error(internal).
    static void expect_handle(const void* handle, std::string_view what);
    [[nodiscard]] std::vector<Heap> heaps();
    // Its memory is the host's (BP_MEM_UNIFIED), or it does not say. Host memory imported by a device with memory of its own is read over
    // the bus at every use and has to be pinned first: there a copy is faster.
    [[nodiscard]] bool in_host_memory();

private:
    std::atomic<bool> lost_{false};
    mutable std::mutex why_mutex_;
    std::string why_;
    std::once_flag asked_memory_;
    bool in_host_memory_ = true;
};

// For the layers above, and tests: what a Device handle shares, null without a device; a handle of a state.
struct DeviceAccess {
    static const std::shared_ptr<Device::State>& state(const Device& device) noexcept { return device.state_; }
    static Device handle(std::shared_ptr<Device::State> state) { return Device(std::move(state)); }
};

}  // namespace backplane
