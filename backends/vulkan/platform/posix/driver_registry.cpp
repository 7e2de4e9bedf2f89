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

// Manifests, and the variable that names them ("" when they are where they usually are).
std::vector<std::string> manifests(std::string& named_by) {
    std::vector<std::string> out;
    for (const char* name : {"VK_DRIVER_FILES", "VK_ICD_FILENAMES"})
        if (const std::string value = backend::environment(name); !value.empty()) {
            named_by = std::string(name) + "=" + value;
            for (const std::string& path : split(value)) {
                // A folder stands for the files in it.
                const std::vector<std::string> inside = backend::files_in(path, ".json");
                out.insert(out.end(), inside.begin(), inside.end());
                if (inside.empty()) out.push_back(path);
            }
            return out;
        }
    for (const std::string& folder : manifest_folders())
        for (const std::string& file : backend::files_in(folder, ".json")) out.push_back(file);
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

std::string library_of(const std::string& manifest, const std::string& text) {
    const std::string path = value_of(text, "library_path");
    const bool relative = path.find('/') != std::string::npos && path.front() != '/';
    return relative ? manifest.substr(0, manifest.find_last_of('/') + 1) + path : path;
}

// What is wrong with one driver; empty: nothing.
std::string fault_of(const std::string& manifest) {
    std::string text;
    if (!backend::read_text(manifest, text)) return "driver file " + manifest + " cannot be read: " + text;
    const std::string bits = value_of(text, "library_arch");
    if (!bits.empty() && bits != std::to_string(8 * sizeof(void*))) return {};
    return backend::fault_of("driver file " + manifest, library_of(manifest, text), "Vulkan",
                             {"vk_icdGetInstanceProcAddr", "vk_icdNegotiateLoaderICDInterfaceVersion"});
}

// What is wrong with drivers among these; empty: nothing.
std::string sentence_on(const std::vector<std::string>& files, const std::string& named_by) {
    std::vector<std::string> faults;
    for (const std::string& file : files)
        if (std::string fault = fault_of(file); !fault.empty()) faults.push_back(std::move(fault));
    const std::string variable = named_by.substr(0, named_by.find('='));
    return backend::sentence_of(faults, "install that driver again" + (variable.empty() ? "" : ", or look at " + variable));
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

std::string broken_drivers() {
    // Of drivers that the user has the loader leave out, nothing is wanted.
    if (!left_out_by().empty()) return {};
    std::string named_by;
    return sentence_on(manifests(named_by), named_by);
}

std::string why_no_driver(bool started) {
    std::string named_by;
    const std::vector<std::string> files = manifests(named_by);
    if (files.empty()) return none_registered(named_by);
    if (std::string broken = sentence_on(files, named_by); !broken.empty()) return broken;
    if (const std::string variables = left_out_by(); !variables.empty())
        return "the Vulkan loader leaves out drivers (" + variables + "); unset the variable";
    std::string names;
    for (const std::string& file : files) names += (names.empty() ? "" : ", ") + file.substr(file.find_last_of('/') + 1);
    const std::string device = backend::why_no_device_file();
    return (started ? "the Vulkan drivers here start but have no device ("
                    : "the Vulkan drivers here load but none starts (") +
           names + ")" + (device.empty() ? "; are they those for its GPU? See the driver's log" : ": " + device);
}

}  // namespace backplane::vulkan
