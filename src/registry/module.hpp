// A loaded module: its library, its table, its open handle.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backplane/context.hpp"
#include "base/dynamic_library.hpp"
#include "base/process_end.hpp"
#include "discovery/discover.hpp"
#include "registry/guarded.hpp"
#include "registry/host.hpp"
#include "registry/load_failure.hpp"
#include "registry/mark.hpp"

namespace backplane::registry {

// "it found no device: there is no driver"; `why`: the module's words, or none.
inline std::string without_devices(const std::string& why) {
    return why.empty() ? "it found no device" : "it found no device: " + why;
}

struct ListedDevice {
    uint64_t id = 0;  // the module's
    DeviceInfo info;  // all but `id`, `backend` and the module's fields
};

// Closed and, when it says that it may be, unmapped when the last reference goes. Members may be called from any thread.
class Module {
public:
    // Loads, asks for the table, checks it, opens; `step` hears what comes next. `mark`: where all that is done with it is noted. Throws
    // LoadFailure.
    using Step = void (*)(const char* name);
    Module(const discovery::Rated& rated, const std::shared_ptr<const HostServices>& services, Step step = nullptr,
           std::unique_ptr<Mark> mark = nullptr);
    ~Module();
    Module(const Module&) = delete;
    Module& operator=(const Module&) = delete;

    // The devices there are now. Throws LoadFailure when the module fails or what it says cannot be; `remark`: its words why there are
    // none, or what is wrong beside those there are.
    [[nodiscard]] std::vector<ListedDevice> list(std::string& remark) const;

    // Never to be unmapped, whatever its descriptor says: a device of it leaves a thread behind.
    void keep_mapped() noexcept;
    [[nodiscard]] bp_device* open_device(uint64_t id) const;  // throws Error

    // Throws LoadFailure when the module wrote over the host's table in one of the calls so far.
    void expect_host_unchanged() const;

    [[nodiscard]] const void* extension(const char* id) const;  // null: none of that name

    [[nodiscard]] const bp_module_api& api() const noexcept { return api_; }    // which functions there are: for BP_HAS
    [[nodiscard]] const Guarded& guarded() const noexcept { return guarded_; }  // to call them
    [[nodiscard]] const discovery::Inspection& inspection() const noexcept { return inspection_; }

private:
    base::DynamicLibrary own_;    // what contains this code: stays while a thread of the module may call it
    std::unique_ptr<Mark> mark_;  // null: none
    discovery::Inspection inspection_;
    std::unique_ptr<Host> host_;  // until the module is closed
    base::DynamicLibrary library_;
    std::optional<base::ExpectProcessEnd> expect_end_;
    bp_module_api api_{};  // what both sides know of the module's table; the rest is zero
    Guarded guarded_;
    bp_module* handle_ = nullptr;
};

}  // namespace backplane::registry
