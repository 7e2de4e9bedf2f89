#include "platform/driver_library.hpp"

namespace backplane::cuda {

const char* const kLibraryName = "nvcuda.dll";
const char* const kLibraryAdvice = "install NVIDIA's driver";

std::string kernel_driver_version() { return {}; }

}  // namespace backplane::cuda
