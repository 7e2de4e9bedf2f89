#include "platform/driver_library.hpp"

#include <algorithm>

#include "common/platform/system.hpp"

namespace backplane::cuda {

const char* const kLibraryName = "libcuda.so.1";
const char* const kLibraryAdvice =
    "install NVIDIA's driver; a container gets the host's where it is started with its GPUs (docker run --gpus all)";

std::string kernel_driver_version() {
    std::string text;
    if (!backend::read_text("/proc/driver/nvidia/version", text)) return {};
    // "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build ..."
    const size_t line = text.find('\n');
    for (size_t at = 0; at < std::min(line, text.size());) {
        const size_t end = std::min(text.find_first_of(" \n", at), text.size());
        const std::string word = text.substr(at, end - at);
        if (word.find('.') != std::string::npos && word.find_first_not_of("0123456789.") == std::string::npos) return word;
        at = end + 1;
    }
    return {};
}

}  // namespace backplane::cuda
