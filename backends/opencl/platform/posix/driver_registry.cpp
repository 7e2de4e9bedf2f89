#include "platform/driver_registry.hpp"

#include <filesystem>
#include <vector>

#include "common/platform/system.hpp"

namespace backplane::opencl {

const char* const kLoaderName = "libOpenCL.so.1";
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

// What is wrong with one registration; empty: its library loads and is a driver.
std::string fault_of(const std::string& file) {
    std::string text;
    if (!backend::read_text(file, text)) return "ICD " + file + " cannot be read: " + text;
    const std::string library = first_line(text);
    if (library.empty()) return "ICD " + file + " names no library";
    std::string reason;
    void* opened = backend::open_library(library, reason);
    if (reason.rfind(library + ": ", 0) == 0) reason.erase(0, library.size() + 2);
    if (opened == nullptr) return "ICD " + file + " names " + library + " which cannot be loaded: " + reason;
    if (backend::find_function(opened, "clGetExtensionFunctionAddress") == nullptr)
        return "ICD " + file + " names " + library + " which is no OpenCL driver (a stub?)";
    return {};
}

}  // namespace

std::string why_no_platform() {
    const Vendors where = vendors();
    std::vector<std::string> files;
    std::error_code ignored;
    if (std::filesystem::is_regular_file(where.place, ignored)) {
        files.push_back(where.place);
    } else {
        files = backend::files_in(where.place, ".icd");
    }
    if (files.empty())
        return "no ICD is registered (" + where.place + " is empty or absent" +
               (where.named_by.empty() ? "" : "; " + where.named_by) +
               "); install a driver (Debian: pocl-opencl-icd for the CPU, or the vendor's)";
    std::vector<std::string> faults;
    for (const std::string& file : files)
        if (std::string fault = fault_of(file); !fault.empty()) faults.push_back(std::move(fault));
    if (!faults.empty())
        return faults[0] + (faults.size() > 1 ? ", and " + std::to_string(faults.size() - 1) + " more are broken" : "") +
               "; install that driver again, or remove the file";
    std::string names;
    for (const std::string& file : files) names += (names.empty() ? "" : ", ") + file;
    const std::string device = backend::why_no_device_file();
    return "the registered drivers load but offer no platform (" + names + ")" + (device.empty() ? "" : ": " + device);
}

}  // namespace backplane::opencl
