#include "api.hpp"

namespace backplane::opencl {

namespace {

#define BP_CL(name, ...) \
    { name, #name __VA_OPT__(, ) __VA_ARGS__ }
constexpr gpu::Answer kAnswers[] = {
    BP_CL(CL_DEVICE_NOT_FOUND),
    BP_CL(CL_DEVICE_NOT_AVAILABLE, BP_DEVICE_LOST),
    BP_CL(CL_COMPILER_NOT_AVAILABLE, BP_UNSUPPORTED),
    BP_CL(CL_MEM_OBJECT_ALLOCATION_FAILURE, BP_NO_DEVICE_MEMORY),
    BP_CL(CL_OUT_OF_RESOURCES, BP_NO_DEVICE_MEMORY),
    BP_CL(CL_OUT_OF_HOST_MEMORY, BP_NO_HOST_MEMORY),
    BP_CL(CL_MEM_COPY_OVERLAP),
    BP_CL(CL_BUILD_PROGRAM_FAILURE, BP_UNSUPPORTED),
    BP_CL(CL_MAP_FAILURE),
    BP_CL(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, BP_DEVICE_LOST),
    BP_CL(CL_INVALID_VALUE),
    BP_CL(CL_INVALID_PLATFORM),
    BP_CL(CL_INVALID_DEVICE),
    BP_CL(CL_INVALID_CONTEXT, BP_DEVICE_LOST),
    BP_CL(CL_INVALID_COMMAND_QUEUE, BP_DEVICE_LOST),
    BP_CL(CL_INVALID_HOST_PTR),
    BP_CL(CL_INVALID_MEM_OBJECT),
    BP_CL(CL_INVALID_BINARY),
    BP_CL(CL_INVALID_BUILD_OPTIONS),
    BP_CL(CL_INVALID_PROGRAM),
    BP_CL(CL_INVALID_PROGRAM_EXECUTABLE),
    BP_CL(CL_INVALID_KERNEL_NAME),
    BP_CL(CL_INVALID_KERNEL),
    BP_CL(CL_INVALID_ARG_INDEX),
    BP_CL(CL_INVALID_ARG_VALUE),
    BP_CL(CL_INVALID_ARG_SIZE),
    BP_CL(CL_INVALID_KERNEL_ARGS),
    BP_CL(CL_INVALID_WORK_GROUP_SIZE),
    BP_CL(CL_INVALID_OPERATION),
    BP_CL(CL_INVALID_BUFFER_SIZE, BP_NO_DEVICE_MEMORY),
    BP_CL(CL_INVALID_GLOBAL_WORK_SIZE),
    BP_CL(CL_PLATFORM_NOT_FOUND_KHR),
    {-9999, "a kernel left its memory (NVIDIA)", BP_DEVICE_LOST},  // the context is gone
};
#undef BP_CL

}  // namespace

std::string name_of(cl_int result) {
    const char* name = gpu::answer_of(kAnswers, result).name;
    return name != nullptr ? name : "OpenCL error " + std::to_string(static_cast<int>(result));
}

void check(cl_int result, const std::string& attempted) {
    if (result == CL_SUCCESS) return;
    throw gpu::failure_of(gpu::answer_of(kAnswers, result).code, attempted, name_of(result), result);
}

}  // namespace backplane::opencl
