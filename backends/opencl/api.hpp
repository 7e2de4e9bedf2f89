// The functions of OpenCL 1.2, looked up in the ICD loader at run time.
#pragma once

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <CL/cl_ext.h>

#include <cstdint>
#include <cstring>
#include <string>

#include "backplane/sdk.hpp"
#include "common/gpu/owned.hpp"

namespace backplane::opencl {

#define BP_CL_FUNCTIONS(X)        \
    X(GetPlatformIDs)             \
    X(GetPlatformInfo)            \
    X(GetDeviceIDs)               \
    X(GetDeviceInfo)              \
    X(CreateContext)              \
    X(ReleaseContext)             \
    X(CreateCommandQueue)         \
    X(ReleaseCommandQueue)        \
    X(CreateBuffer)               \
    X(ReleaseMemObject)           \
    X(CreateProgramWithSource)    \
    X(CreateProgramWithBinary)    \
    X(BuildProgram)               \
    X(GetProgramInfo)             \
    X(GetProgramBuildInfo)        \
    X(RetainProgram)              \
    X(ReleaseProgram)             \
    X(CreateKernel)               \
    X(SetKernelArg)               \
    X(ReleaseKernel)              \
    X(EnqueueNDRangeKernel)       \
    X(EnqueueReadBuffer)          \
    X(EnqueueWriteBuffer)         \
    X(EnqueueCopyBuffer)          \
    X(EnqueueMapBuffer)           \
    X(EnqueueUnmapMemObject)      \
    X(EnqueueMigrateMemObjects)   \
    X(EnqueueFillBuffer)          \
    X(EnqueueMarkerWithWaitList)  \
    X(EnqueueBarrierWithWaitList) \
    X(GetEventInfo)               \
    X(WaitForEvents)              \
    X(ReleaseEvent)               \
    X(Flush)                      \
    X(Finish)

struct Functions {
#define BP_CL_MEMBER(name) decltype(&cl##name) name = nullptr;
    BP_CL_FUNCTIONS(BP_CL_MEMBER)
#undef BP_CL_MEMBER
};

// "CL_OUT_OF_RESOURCES", or the number.
extern const gpu::Answers kAnswers;
inline std::string name_of(cl_int result) { return kAnswers.name(result); }
// Throws Failure with the code that an answer stands for, unless it is CL_SUCCESS. `attempted`: "allocate 64 MiB on PoCL".
inline void check(cl_int result, const std::string& attempted) { kAnswers.check(result, attempted); }

// What is answered with a text: ask(size, text, &size) is one of OpenCL's questions. "": it has no answer.
template <typename Ask>
std::string answer_of(Ask ask) {
    size_t size = 0;
    if (ask(size, nullptr, &size) != CL_SUCCESS || size == 0) return {};
    std::string out(size, '\0');
    if (ask(size, out.data(), nullptr) != CL_SUCCESS) return {};
    out.resize(std::strlen(out.c_str()));
    return out;
}

template <typename T>
using Handle = gpu::Owned<T, cl_int(CL_API_CALL*)(T)>;

}  // namespace backplane::opencl
