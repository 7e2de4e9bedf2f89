#include "driver.hpp"

#include "common/platform/system.hpp"
#include "platform/driver_library.hpp"

namespace backplane::cuda {

namespace {

bp_code code_of(Result result) {
    switch (result) {
        case kOutOfMemory:
        case kLaunchOutOfResources: return BP_NO_DEVICE_MEMORY;
        case kDeinitialized:
        case kEccUncorrectable:
        case kNvlinkUncorrectable:
        case kContained:
        case kIllegalAddress:
        case kLaunchTimeout:
        case kContextIsDestroyed:
        case kAssert:
        case kLaunchFailed:
        case kTensorMemoryLeak:
        case kUnknown: return BP_DEVICE_LOST;
        case kInvalidImage:
        case kNoBinaryForGpu:
        case kInvalidPtx:
        case kJitCompilerNotFound:
        case kUnsupportedPtxVersion: return BP_UNSUPPORTED;
        default: return result >= kHardwareStackError && result < kLaunchFailed ? BP_DEVICE_LOST : BP_INTERNAL;
    }
}

const char* advice_for(Result result) {
    switch (result) {
        case kNoBinaryForGpu: return "install a module that was built for this card's compute capability";
        case kInvalidImage: return "install the module again: its kernels are damaged";
        case kInvalidPtx:
        case kUnsupportedPtxVersion: return "update the driver: it is older than the compiler of the module's kernels";
        case kJitCompilerNotFound:
            return "install all of the driver: its compiler (libnvidia-ptxjitcompiler.so.1) is missing";
        case kOutOfMemory: return "free buffers, use smaller tiles or another device";
        case kLaunchOutOfResources: return "use another device";
        default:
            return code_of(result) == BP_DEVICE_LOST ? "close the device and open it again, or see the system's log (Xid)"
                                                     : "see the system's log";
    }
}

}  // namespace

bool Driver::open(std::string& why) {
    std::string reason;
    void* library = backend::open_library(kLibraryName, reason);
    if (library == nullptr) {
        why = std::string("NVIDIA's driver library ") + kLibraryName + " does not open (" + reason + "); " + kLibraryAdvice;
        return false;
    }
    const char* missing = look_up(library);
    if (missing != nullptr)
        why = std::string(kLibraryName) + " has no " + missing + ": a driver of CUDA 12.0 or later is needed; update it";
    return missing == nullptr;
}

std::string Driver::words(Result result) const {
    const char* name = nullptr;
    const char* text = nullptr;
    if (error_name(result, &name) != kSuccess || name == nullptr) return "CUDA error " + std::to_string(result);
    if (error_string(result, &text) != kSuccess || text == nullptr) return name;
    return std::string(name) + " (" + text + ")";
}

void Driver::check(Result result, const std::string& attempted) const {
    if (result != kSuccess)
        throw sdk::Failure(code_of(result), attempted + ": " + words(result) + "; " + advice_for(result), result);
}

}  // namespace backplane::cuda
