#include "platform/driver_registry.hpp"

namespace backplane::opencl {

const char* const kLoaderName = "OpenCL.dll";
const char* const kCudaName = "nvcuda.dll";
const char* const kLoaderAdvice = "install the graphics driver of the vendor";

std::string why_no_platform() {
    return "no OpenCL driver is registered that loads (HKEY_LOCAL_MACHINE\\SOFTWARE\\Khronos\\OpenCL\\Vendors); install the "
           "graphics "
           "driver of the vendor";
}

std::string broken_drivers() { return {}; }  // the loader alone knows

}  // namespace backplane::opencl
