#include "api.hpp"

namespace backplane::opencl {

std::string name_of(cl_int result) {
    switch (result) {
#define BP_CL_NAME(name) \
    case name: return #name;
        BP_CL_NAME(CL_DEVICE_NOT_FOUND)
        BP_CL_NAME(CL_DEVICE_NOT_AVAILABLE)
        BP_CL_NAME(CL_COMPILER_NOT_AVAILABLE)
        BP_CL_NAME(CL_MEM_OBJECT_ALLOCATION_FAILURE)
        BP_CL_NAME(CL_OUT_OF_RESOURCES)
        BP_CL_NAME(CL_OUT_OF_HOST_MEMORY)
        BP_CL_NAME(CL_MEM_COPY_OVERLAP)
        BP_CL_NAME(CL_BUILD_PROGRAM_FAILURE)
        BP_CL_NAME(CL_MAP_FAILURE)
        BP_CL_NAME(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST)
        BP_CL_NAME(CL_INVALID_VALUE)
        BP_CL_NAME(CL_INVALID_PLATFORM)
        BP_CL_NAME(CL_INVALID_DEVICE)
        BP_CL_NAME(CL_INVALID_CONTEXT)
        BP_CL_NAME(CL_INVALID_COMMAND_QUEUE)
        BP_CL_NAME(CL_INVALID_HOST_PTR)
        BP_CL_NAME(CL_INVALID_MEM_OBJECT)
        BP_CL_NAME(CL_INVALID_BINARY)
        BP_CL_NAME(CL_INVALID_BUILD_OPTIONS)
        BP_CL_NAME(CL_INVALID_PROGRAM)
        BP_CL_NAME(CL_INVALID_PROGRAM_EXECUTABLE)
        BP_CL_NAME(CL_INVALID_KERNEL_NAME)
        BP_CL_NAME(CL_INVALID_KERNEL)
        BP_CL_NAME(CL_INVALID_ARG_INDEX)
        BP_CL_NAME(CL_INVALID_ARG_VALUE)
        BP_CL_NAME(CL_INVALID_ARG_SIZE)
        BP_CL_NAME(CL_INVALID_KERNEL_ARGS)
        BP_CL_NAME(CL_INVALID_WORK_GROUP_SIZE)
        BP_CL_NAME(CL_INVALID_OPERATION)
        BP_CL_NAME(CL_INVALID_BUFFER_SIZE)
        BP_CL_NAME(CL_INVALID_GLOBAL_WORK_SIZE)
        BP_CL_NAME(CL_PLATFORM_NOT_FOUND_KHR)
#undef BP_CL_NAME
        default: return "OpenCL error " + std::to_string(result);
    }
}

bool means_lost(cl_int result) {
    constexpr cl_int kNvidiaBadAccess = -9999;  // a kernel read or wrote outside its memory: the context is gone
    return result == CL_DEVICE_NOT_AVAILABLE || result == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST ||
           result == CL_INVALID_COMMAND_QUEUE || result == CL_INVALID_CONTEXT || result == kNvidiaBadAccess;
}

void check(cl_int result, const std::string& attempted) {
    if (result == CL_SUCCESS) return;
    bp_code code = BP_INTERNAL;
    const char* advice = "see the driver's log";
    if (means_lost(result)) {
        code = BP_DEVICE_LOST;
        advice = "close the device and open it again";
    } else if (result == CL_MEM_OBJECT_ALLOCATION_FAILURE || result == CL_OUT_OF_RESOURCES ||
               result == CL_INVALID_BUFFER_SIZE) {
        code = BP_NO_DEVICE_MEMORY;
        advice = "free buffers, use smaller tiles or another device";
    } else if (result == CL_OUT_OF_HOST_MEMORY) {
        code = BP_NO_HOST_MEMORY;
        advice = "free memory of the process";
    } else if (result == CL_COMPILER_NOT_AVAILABLE || result == CL_BUILD_PROGRAM_FAILURE) {
        code = BP_UNSUPPORTED;
        advice = "update the driver or use another device";
    }
    throw sdk::Failure(code, attempted + ": " + name_of(result) + "; " + advice, result);
}

}  // namespace backplane::opencl
