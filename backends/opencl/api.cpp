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

namespace {

bp_code code_of(cl_int result) {
    constexpr cl_int kNvidiaBadAccess = -9999;  // a kernel read or wrote outside its memory: the context is gone
    switch (result) {
        case CL_DEVICE_NOT_AVAILABLE:
        case CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST:
        case CL_INVALID_COMMAND_QUEUE:
        case CL_INVALID_CONTEXT:
        case kNvidiaBadAccess: return BP_DEVICE_LOST;
        case CL_MEM_OBJECT_ALLOCATION_FAILURE:
        case CL_OUT_OF_RESOURCES:
        case CL_INVALID_BUFFER_SIZE: return BP_NO_DEVICE_MEMORY;
        case CL_OUT_OF_HOST_MEMORY: return BP_NO_HOST_MEMORY;
        case CL_COMPILER_NOT_AVAILABLE:
        case CL_BUILD_PROGRAM_FAILURE: return BP_UNSUPPORTED;
        default: return BP_INTERNAL;
    }
}

}  // namespace

void check(cl_int result, const std::string& attempted) {
    if (result != CL_SUCCESS) throw gpu::failure_of(code_of(result), attempted, name_of(result), result);
}

}  // namespace backplane::opencl
