#include "platform/driver_registry.hpp"

#include <vector>

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

// Manifests, and the variable that names them ("" when they are where they usually are).
std::vector<std::string> manifests(std::string& named_by) {
    for (const char* name : {"VK_DRIVER_FILES", "VK_ICD_FILENAMES"})
        if (const std::string value = backend::environment(name); !value.empty()) {
            named_by = std::string(name) + "=" + value;
            return split(value);
        }
    std::vector<std::string> out;
    for (const std::string& folder : manifest_folders())
        for (const std::string& file : backend::files_in(folder, ".json")) out.push_back(file);
    return out;
}

// The value of "library_path" of a manifest; nothing else in it matters here.
std::string library_of(const std::string& manifest, const std::string& text) {
    const size_t key = text.find("\"library_path\"");
    const size_t colon = key != std::string::npos ? text.find(':', key) : key;
    const size_t first = colon != std::string::npos ? text.find('"', colon) : colon;
    const size_t last = first != std::string::npos ? text.find('"', first + 1) : first;
    if (last == std::string::npos) return {};
    std::string path = text.substr(first + 1, last - first - 1);
    if (path.find('/') != std::string::npos && path.front() != '/')
        path = manifest.substr(0, manifest.find_last_of('/') + 1) + path;
    return path;
}

// What is wrong with one driver; empty: its library loads and is a driver.
std::string fault_of(const std::string& manifest) {
    std::string text;
    if (!backend::read_text(manifest, text)) return "driver file " + manifest + " cannot be read: " + text;
    const std::string library = library_of(manifest, text);
    if (library.empty()) return "driver file " + manifest + " names no library";
    std::string reason;
    void* opened = backend::open_library(library, reason);
    if (reason.rfind(library + ": ", 0) == 0) reason.erase(0, library.size() + 2);
    if (opened == nullptr) return "driver file " + manifest + " names " + library + " which cannot be loaded: " + reason;
    if (backend::find_function(opened, "vk_icdGetInstanceProcAddr") == nullptr &&
        backend::find_function(opened, "vk_icdNegotiateLoaderICDInterfaceVersion") == nullptr)
        return "driver file " + manifest + " names " + library + " which is no Vulkan driver (a stub?)";
    return {};
}

// Where no driver is registered although the variable or the usual folders were looked at.
std::string none_registered(const std::string& named_by) {
    if (!named_by.empty()) return "no Vulkan driver is registered (" + named_by + " names no file); unset the variable";
    return "no Vulkan driver is registered (no file in /etc/vulkan/icd.d or /usr/share/vulkan/icd.d); install one "
           "(Debian: mesa-vulkan-drivers, or the vendor's)";
}

// Variables by which the loader leaves drivers out; empty: none is set.
std::string left_out_by() {
    std::string out;
    for (const char* name : {"VK_LOADER_DRIVERS_SELECT", "VK_LOADER_DRIVERS_DISABLE"})
        if (const std::string value = backend::environment(name); !value.empty())
            out += (out.empty() ? "" : ", ") + std::string(name) + "=" + value;
    return out;
}

}  // namespace

std::string why_no_driver(bool started) {
    std::string named_by;
    const std::vector<std::string> files = manifests(named_by);
    if (files.empty()) return none_registered(named_by);
    std::vector<std::string> faults;
    std::string names;
    for (const std::string& file : files) {
        names += (names.empty() ? "" : ", ") + file.substr(file.find_last_of('/') + 1);
        if (std::string fault = fault_of(file); !fault.empty()) faults.push_back(std::move(fault));
    }
    if (!faults.empty())
        return faults[0] + (faults.size() > 1 ? ", and " + std::to_string(faults.size() - 1) + " more are broken" : "") +
               "; install that driver again" +
               (named_by.empty() ? "" : ", or look at " + named_by.substr(0, named_by.find('=')));
    if (const std::string variables = left_out_by(); !variables.empty())
        return "the Vulkan loader leaves out drivers (" + variables + "); unset the variable";
    const std::string device = backend::why_no_device_file();
    return (started ? "the Vulkan drivers here start but have no device ("
                    : "the Vulkan drivers here load but none starts (") +
           names + ")" + (device.empty() ? "; are they those for its GPU? See the driver's log" : ": " + device);
}

}  // namespace backplane::vulkan
