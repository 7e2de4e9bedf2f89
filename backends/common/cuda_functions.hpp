// The functions of CUDA's driver API that are used here, looked up in the driver's library at run time, and the few types that they take: facts of its
// ABI, so that building needs no toolkit. tests/unit/cuda compares them with cuda.h where it is there.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/platform/system.hpp"

namespace backplane::cuda {

using Result = int;
using DeviceNumber = int;
using Address = unsigned long long;  // of device memory
using Context = struct CUctx_st*;
using Module = struct CUmod_st*;
using Function = struct CUfunc_st*;
using Stream = struct CUstream_st*;
using Event = struct CUevent_st*;
using Graph = struct CUgraph_st*;
using GraphRun = struct CUgraphExec_st*;
using Link = struct CUlinkState_st*;
// How a tensor lies in memory, for copies of boxes of it that the device makes by itself; cuTensorMapEncodeTiled fills it in.
struct alignas(128) TensorMap {
    uint64_t words[16];
};
struct Uuid {
    unsigned char bytes[16];
};

// How a kernel is started.
struct LaunchAttribute {
    int id = 0;
    char pad[4] = {};
    alignas(8) int value = 0;
    char rest[60] = {};
};
struct LaunchConfig {
    unsigned groups[3] = {1, 1, 1}, local[3] = {1, 1, 1}, shared = 0;
    Stream stream = nullptr;
    LaunchAttribute* attributes = nullptr;
    unsigned attribute_count = 0;
};

// X(member, name in the library, arguments)
#define BP_CUDA_FUNCTIONS(X)                                                                                            \
    X(init, "cuInit", (unsigned flags))                                                                                 \
    X(driver_version, "cuDriverGetVersion", (int* version))                                                             \
    X(error_name, "cuGetErrorName", (Result, const char** text))                                                        \
    X(error_string, "cuGetErrorString", (Result, const char** text))                                                    \
    X(device_count, "cuDeviceGetCount", (int* count))                                                                   \
    X(device_get, "cuDeviceGet", (DeviceNumber*, int ordinal))                                                          \
    X(device_name, "cuDeviceGetName", (char* text, int size, DeviceNumber))                                             \
    X(device_uuid, "cuDeviceGetUuid_v2", (Uuid*, DeviceNumber))                                                         \
    X(device_memory, "cuDeviceTotalMem_v2", (size_t*, DeviceNumber))                                                    \
    X(device_attribute, "cuDeviceGetAttribute", (int*, int what, DeviceNumber))                                         \
    X(context_retain, "cuDevicePrimaryCtxRetain", (Context*, DeviceNumber))                                             \
    X(context_release, "cuDevicePrimaryCtxRelease_v2", (DeviceNumber))                                                  \
    X(context_push, "cuCtxPushCurrent_v2", (Context))                                                                   \
    X(context_pop, "cuCtxPopCurrent_v2", (Context*))                                                                    \
    X(peer_enable, "cuCtxEnablePeerAccess", (Context of, unsigned flags))                                               \
    X(memory_info, "cuMemGetInfo_v2", (size_t * free, size_t * total))                                                  \
    X(memory_alloc, "cuMemAlloc_v2", (Address*, size_t))                                                                \
    X(memory_free, "cuMemFree_v2", (Address))                                                                           \
    X(host_alloc, "cuMemHostAlloc", (void**, size_t, unsigned flags))                                                   \
    X(host_free, "cuMemFreeHost", (void*))                                                                              \
    X(copy_async, "cuMemcpyAsync", (Address to, Address from, size_t, Stream))                                          \
    X(copy_peer_async, "cuMemcpyPeerAsync", (Address to, Context of_to, Address from, Context of_from, size_t, Stream)) \
    X(fill_async, "cuMemsetD8Async", (Address, unsigned char, size_t, Stream))                                          \
    X(module_load, "cuModuleLoadData", (Module*, const void* image))                                                    \
    X(module_unload, "cuModuleUnload", (Module))                                                                        \
    X(module_function, "cuModuleGetFunction", (Function*, Module, const char* name))                                    \
    X(function_set, "cuFuncSetAttribute", (Function, int what, int value))                                              \
    X(map_encode, "cuTensorMapEncodeTiled",                                                                             \
      (TensorMap*, int type, uint32_t rank, void* at, const uint64_t* extents, const uint64_t* strides,                 \
       const uint32_t* box, const uint32_t* steps, int interleave, int swizzle, int promotion, int fill))               \
    X(link_create, "cuLinkCreate_v2", (unsigned count, int* options, void** values, Link*))                             \
    X(link_add, "cuLinkAddData_v2", (Link, int kind, void*, size_t, const char* name, unsigned, int*, void**))          \
    X(link_complete, "cuLinkComplete", (Link, void** cubin, size_t*))                                                   \
    X(link_destroy, "cuLinkDestroy", (Link))                                                                            \
    X(stream_create, "cuStreamCreate", (Stream*, unsigned flags))                                                       \
    X(stream_destroy, "cuStreamDestroy_v2", (Stream))                                                                   \
    X(stream_wait, "cuStreamWaitEvent", (Stream, Event, unsigned flags))                                                \
    X(stream_synchronize, "cuStreamSynchronize", (Stream))                                                              \
    X(event_create, "cuEventCreate", (Event*, unsigned flags))                                                          \
    X(event_destroy, "cuEventDestroy_v2", (Event))                                                                      \
    X(event_record, "cuEventRecord", (Event, Stream))                                                                   \
    X(event_query, "cuEventQuery", (Event))                                                                             \
    X(event_synchronize, "cuEventSynchronize", (Event))                                                                 \
    X(launch, "cuLaunchKernelEx", (const LaunchConfig*, Function, void** arguments, void** extra))                      \
    X(capture_begin, "cuStreamBeginCapture_v2", (Stream, int mode))                                                     \
    X(capture_end, "cuStreamEndCapture", (Stream, Graph*))                                                              \
    X(graph_instantiate, "cuGraphInstantiateWithFlags", (GraphRun*, Graph, unsigned long long flags))                   \
    X(graph_destroy, "cuGraphDestroy", (Graph))                                                                         \
    X(graph_launch, "cuGraphLaunch", (GraphRun, Stream))                                                                \
    X(graph_run_destroy, "cuGraphExecDestroy", (GraphRun))

// On 64-bit Windows, too, functions are called in one way only.
struct Functions {
#define BP_CUDA_MEMBER(member, name, arguments) Result(*member) arguments = nullptr;
    BP_CUDA_FUNCTIONS(BP_CUDA_MEMBER)
#undef BP_CUDA_MEMBER

    // Those that the library has; the name of the first that it has not, null: it has all.
    const char* look_up(void* library) {
        const char* missing = nullptr;
#define BP_CUDA_FIND(member, name, arguments)                                           \
    member = reinterpret_cast<decltype(member)>(backend::find_function(library, name)); \
    if (member == nullptr && missing == nullptr) missing = name;
        BP_CUDA_FUNCTIONS(BP_CUDA_FIND)
#undef BP_CUDA_FIND
        return missing;
    }
};

// Makes a context the calling thread's, and what was before afterwards.
class Current {
public:
    Current(const Functions& driver, Context context) : driver_(driver), pushed_(driver.context_push(context) == 0) {}
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;
    ~Current() {
        Context ours = nullptr;
        if (pushed_) driver_.context_pop(&ours);
    }

private:
    const Functions& driver_;
    bool pushed_;
};

}  // namespace backplane::cuda
