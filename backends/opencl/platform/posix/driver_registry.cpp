#include "platform/driver_registry.hpp"

#include <filesystem>

#include "common/platform/registrations.hpp"
#include "common/platform/system.hpp"

namespace backplane::opencl {

const char* const kLoaderName = "libOpenCL.so.1";
const char* const kCudaName = "libcuda.so.1";
const char* const kLoaderAdvice = "install it (Debian: ocl-icd-libopencl1) and a driver";

namespace {

// The variable that moved the folder of registrations, with its value; "": none did.
std::string named_by() { return backend::variables({"OCL_ICD_VENDORS", "OPENCL_VENDOR_PATH"}, true); }

std::string folder() {
    const std::string named = named_by();
    return named.empty() ? "/etc/OpenCL/vendors" : named.substr(named.find('=') + 1);
}

std::optional<std::string> first_line(const std::string&, const std::string& text) {
    const std::string line = text.substr(0, text.find_first_of("\r\n"));
    const size_t first = line.find_first_not_of(" \t");
    return first == std::string::npos ? "" : line.substr(first, line.find_last_not_of(" \t") - first + 1);
}

backend::Registry registry() {
    backend::Registry out{
        "OpenCL",   "ICD",     ".icd", {"clGetExtensionFunctionAddress"}, "install that driver again, or remove the file",
        first_line, {folder()}};
    std::error_code ignored;
    // ocl-icd takes a file in the place of a folder, also a library.
    if (!std::filesystem::is_regular_file(folder(), ignored)) out.files = backend::files_in(folder(), ".icd");
    return out;
}

}  // namespace

std::string broken_drivers() { return registry().broken(); }

std::string why_no_platform() {
    const backend::Registry drivers = registry();
    if (drivers.files.empty())
        return "no ICD is registered (" + folder() + " is empty or absent" + (named_by().empty() ? "" : "; " + named_by()) +
               "); install a driver (Debian: pocl-opencl-icd for the CPU, or the vendor's)";
    if (std::string broken = drivers.broken(); !broken.empty()) return broken;
    const std::string device = backend::why_no_device_file();
    return "the registered drivers load but offer no platform (" + backend::listed(drivers.files) + ")" +
           (device.empty() ? "" : ": " + device);
}

}  // namespace backplane::opencl
