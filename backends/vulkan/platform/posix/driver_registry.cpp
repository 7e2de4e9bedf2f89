#include "platform/driver_registry.hpp"

#include <vector>

#include "common/platform/registrations.hpp"
#include "common/platform/system.hpp"

namespace backplane::vulkan {

const char* const kLoaderName = "libvulkan.so.1";
const char* const kLoaderAdvice = "install it (Debian: libvulkan1) and a driver";

namespace {

std::vector<std::string> split(const std::string& list) {
    std::vector<std::string> out;
    for (size_t at = 0; at <= list.size();) {
        const size_t end = std::min(list.find(':', at), list.size());
        if (end > at) out.push_back(list.substr(at, end - at));
        at = end + 1;
    }
    return out;
}

std::string variable(const char* name, const std::string& otherwise) {
    const std::string value = backend::environment(name);
    return value.empty() ? otherwise : value;
}

// The folders of the loader's documentation (LoaderDriverInterface.md).
std::vector<std::string> manifest_folders() {
    const std::string home = backend::environment("HOME");
    std::vector<std::string> out;
    for (const std::string& base : {variable("XDG_CONFIG_HOME", home + "/.config"), variable("XDG_CONFIG_DIRS", "/etc/xdg"),
                                    std::string("/usr/local/etc:/etc"), variable("XDG_DATA_HOME", home + "/.local/share"),
                                    variable("XDG_DATA_DIRS", "/usr/local/share:/usr/share")})
        for (const std::string& folder : split(base)) out.push_back(folder + "/vulkan/icd.d");
    return out;
}

// The variable that names manifests, with its value; "": they are where they usually are.
std::string named_by() { return backend::variables({"VK_DRIVER_FILES", "VK_ICD_FILENAMES"}, true); }

std::vector<std::string> manifests() {
    std::vector<std::string> out;
    const std::string named = named_by();
    for (const std::string& path : named.empty() ? manifest_folders() : split(named.substr(named.find('=') + 1))) {
        // A folder stands for the files in it.
        const std::vector<std::string> inside = backend::files_in(path, ".json");
        out.insert(out.end(), inside.begin(), inside.end());
        if (inside.empty() && !named.empty()) out.push_back(path);
    }
    return out;
}

// The text that a manifest has under `key`; nothing else in it matters here.
std::string value_of(const std::string& text, const std::string& key) {
    const size_t name = text.find('"' + key + '"');
    const size_t colon = name != std::string::npos ? text.find(':', name) : name;
    const size_t first = colon != std::string::npos ? text.find('"', colon) : colon;
    const size_t last = first != std::string::npos ? text.find('"', first + 1) : first;
    return last != std::string::npos ? text.substr(first + 1, last - first - 1) : "";
}

std::optional<std::string> library_of(const std::string& manifest, const std::string& text) {
    const std::string bits = value_of(text, "library_arch");
    if (!bits.empty() && bits != std::to_string(8 * sizeof(void*))) return std::nullopt;
    const std::string path = value_of(text, "library_path");
    const bool relative = path.find('/') != std::string::npos && path.front() != '/';
    return relative ? manifest.substr(0, manifest.find_last_of('/') + 1) + path : path;
}

backend::Registry registry() {
    const std::string variable = named_by().substr(0, named_by().find('='));
    return {"Vulkan",
            "driver file",
            "",
            {"vk_icdGetInstanceProcAddr", "vk_icdNegotiateLoaderICDInterfaceVersion"},
            "install that driver again" + (variable.empty() ? "" : ", or look at " + variable),
            library_of,
            manifests()};
}

// Where no driver is registered although the variable or the usual folders were looked at.
std::string none_registered() {
    if (!named_by().empty()) return "no Vulkan driver is registered (" + named_by() + " names no file); unset the variable";
    return "no Vulkan driver is registered (no file in /etc/vulkan/icd.d or /usr/share/vulkan/icd.d); install one "
           "(Debian: mesa-vulkan-drivers, or the vendor's)";
}

// Variables by which the loader leaves drivers out; empty: none is set.
std::string left_out_by() { return backend::variables({"VK_LOADER_DRIVERS_SELECT", "VK_LOADER_DRIVERS_DISABLE"}); }

}  // namespace

std::string broken_drivers() {
    // Of drivers that the user has the loader leave out, nothing is wanted.
    return left_out_by().empty() ? registry().broken() : "";
}

std::string why_no_driver(bool started) {
    backend::Registry drivers = registry();
    if (drivers.files.empty()) return none_registered();
    if (std::string broken = drivers.broken(); !broken.empty()) return broken;
    if (const std::string variables = left_out_by(); !variables.empty())
        return "the Vulkan loader leaves out drivers (" + variables + "); unset the variable";
    for (std::string& file : drivers.files) file.erase(0, file.find_last_of('/') + 1);
    const std::string device = backend::why_no_device_file();
    return (started ? "the Vulkan drivers here start but have no device ("
                    : "the Vulkan drivers here load but none starts (") +
           backend::listed(drivers.files) + ")" +
           (device.empty() ? "; are they those for its GPU? See the driver's log" : ": " + device);
}

}  // namespace backplane::vulkan
