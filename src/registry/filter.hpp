// Which device a person means: the filter of Context::choose, --device and BACKPLANE_DEVICE.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backplane/context.hpp"

namespace backplane::registry {

// Terms, comma-separated: an id "vulkan:0", a backend and a device's name "ggml:Vulkan0", a backend "cpu", a kind "discrete",
// "name=*rtx*" (glob, any case), an identity "pci:0000:01:00.0"; `!` before a term excludes. Earlier terms are preferred over later
// ones, and of what one term matches the backend of that name ("cpu", which is a kind, too). No term but exclusions, or "auto": the
// best there is, which is never a software device. A device that failed its trial (DeviceInfo::fault) is matched by its id, name or
// identity alone.
class Filter {
public:
    Filter() = default;
    explicit Filter(std::string_view text);

    // The devices that match, best first; `devices` are in order of preference.
    [[nodiscard]] std::vector<DeviceInfo> select(const std::vector<DeviceInfo>& devices) const;
    [[nodiscard]] bool excludes(const DeviceInfo& device) const;
    [[nodiscard]] bool excludes_backend(std::string_view backend) const;  // the whole of it, so that it need not be loaded
    // Of all backends there are, those that the terms name ("cpu", "vulkan:0"); no value when another may match as well ("discrete").
    [[nodiscard]] std::optional<std::vector<std::string>> named_backends(const std::vector<std::string>& all) const;
    [[nodiscard]] const std::string& text() const noexcept { return text_; }
    [[nodiscard]] bool names_nothing() const noexcept { return wanted_.empty(); }

private:
    std::string text_;
    std::vector<std::string> wanted_, unwanted_;
};

// Preference, best first: devices without a warning; discrete, virtual, integrated, accelerator, CPU, unknown; software always last. Stable.
void sort_by_preference(std::vector<DeviceInfo>& devices);

// Fills in same_chip_as: by PCI address where both know it, else by UUID; one to one, and only across backends. `devices` in order of
// preference.
void mark_same_chips(std::vector<DeviceInfo>& devices);

}  // namespace backplane::registry
