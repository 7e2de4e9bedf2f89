#include "platform/driver_registry.hpp"

#include <filesystem>
#include <vector>

#include "common/platform/registrations.hpp"
#include "common/platform/system.hpp"

namespace backplane::opencl {

const char* const kLoaderName = "libOpenCL.so.1";
const char* const kCudaName = "libcuda.so.1";
const char* const kLoaderAdvice = "install it (Debian: ocl-icd-libopencl1) and a driver";

namespace {

// The folder of registrations, and the variable that moved it there.
struct Vendors {
    std::string place = "/etc/OpenCL/vendors";
    std::string named_by;  // "OCL_ICD_VENDORS=/x"; empty: the usual place
};

Vendors vendors() {
    Vendors out;
    for (const char* name : {"OCL_ICD_VENDORS", "OPENCL_VENDOR_PATH"})
        if (const std::string value = backend::environment(name); !value.empty()) {
            out.place = value;
            out.named_by = std::string(name) + "=" + value;
            break;
        }
    return out;
}

std::string first_line(const std::string& text) {
    const size_t end = text.find_first_of("\r\n");
    std::string line = text.substr(0, end);
    const size_t first = line.find_first_not_of(" \t");
    const size_t last = line.find_last_not_of(" \t");
    return first == std::string::npos ? "" : line.substr(first, last - first + 1);
}

// What is wrong with one registration; empty: nothing.
std::string fault_of(const std::string& file) {
    std::string text;
    // ocl-icd takes a library in the place of a folder, too.
    if (file.size() < 4 || file.compare(file.size() - 4, 4, ".icd") != 0) return {};
    if (!backend::read_text(file, text)) return "ICD " + file + " cannot be read: " + text;
    return backend::fault_of("ICD " + file, first_line(text), "OpenCL", {"clGetExtensionFunctionAddress"});
}

std::vector<std::string> registrations(const Vendors& where) {
    std::error_code ignored;
    if (std::filesystem::is_regular_file(where.place, ignored)) return {where.place};
    return backend::files_in(where.place, ".icd");
}

// What is wrong with registrations among these; empty: nothing.
std::string sentence_on(const std::vector<std::string>& files) {
    std::vector<std::string> faults;
    for (const std::string& file : files)
        if (std::string fault = fault_of(file); !fault.empty()) faults.push_back(std::move(fault));
    return backend::sentence_of(faults, "install that driver again, or remove the file");
}

}  // namespace

std::string broken_drivers() { return sentence_on(registrations(vendors())); }

std::string why_no_platform() {
    const Vendors where = vendors();
    const std::vector<std::string> files = registrations(where);
    if (files.empty())
        return "no ICD is registered (" + where.place + " is empty or absent" +
               (where.named_by.empty() ? "" : "; " + where.named_by) +
               "); install a driver (Debian: pocl-opencl-icd for the CPU, or the vendor's)";
    if (std::string broken = sentence_on(files); !broken.empty()) return broken;
    std::string names;
    for (const std::string& file : files) names += (names.empty() ? "" : ", ") + file;
    const std::string device = backend::why_no_device_file();
    return "the registered drivers load but offer no platform (" + names + ")" + (device.empty() ? "" : ": " + device);
}

}  // namespace backplane::opencl
