// The functions of CUDA's driver API that are used here, looked up in the driver's library at run time, and the few types and numbers they take:
// facts of its ABI, so that building needs no toolkit. tests/unit/cuda compares them with cuda.h where it is there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "backplane/sdk.hpp"

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

// Answers that something is made of.
enum : Result {
    kSuccess = 0,
    kOutOfMemory = 2,
    kDeinitialized = 4,
    kStubLibrary = 34,
    kNoDevice = 100,
    kInvalidImage = 200,
    kNoBinaryForGpu = 209,
    kEccUncorrectable = 214,
    kInvalidPtx = 218,
    kNvlinkUncorrectable = 220,
    kJitCompilerNotFound = 221,
    kUnsupportedPtxVersion = 222,
    kContained = 226,
    kNotReady = 600,
    kIllegalAddress = 700,
    kLaunchOutOfResources = 701,
    kLaunchTimeout = 702,
    kContextIsDestroyed = 709,
    kAssert = 710,
    kHardwareStackError = 714,
    kLaunchFailed = 719,
    kTensorMemoryLeak = 721,
    kNotPermitted = 800,
    kSystemNotReady = 802,
    kSystemDriverMismatch = 803,
    kCompatNotSupported = 804,
    kMpsConnectionFailed = 805,
    kUnknown = 999
};

// Questions about a device.
enum : int {
    kMostThreads = 1,
    kSharedBytes = 8,
    kUnits = 16,
    kIntegrated = 18,
    kComputeMode = 20,
    kPciBus = 33,
    kPciDevice = 34,
    kPciDomain = 50,
    kMajor = 75,
    kMinor = 76,
    kSharedBytesAtMost = 97  // that a kernel can be given when it asks for them
};
constexpr int kComputeModeProhibited = 2;

constexpr unsigned kHostPortable = 1;       // pinned memory of all contexts
constexpr unsigned kStreamNonBlocking = 1;  // no order with the default stream
constexpr unsigned kEventBlocking = 1;      // who waits sleeps
constexpr unsigned kEventNoTiming = 2;
constexpr int kCaptureRelaxed = 2;      // other threads do as they like meanwhile
constexpr int kInputPtx = 1;            // of a link
constexpr int kStartsEarly = 6;         // an attribute of a launch: before the kernel in front of it has ended
constexpr int kDynamicSharedBytes = 8;  // of a function
constexpr int kMapOfHalves = 6, kMapSwizzle64 = 2, kMapSwizzle128 = 3, kMapPromote256 = 3;
constexpr int kErrorLog = 5, kErrorLogSize = 6;  // options of a link

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
struct Driver {
#define BP_CUDA_MEMBER(member, name, arguments) Result(*member) arguments = nullptr;
    BP_CUDA_FUNCTIONS(BP_CUDA_MEMBER)
#undef BP_CUDA_MEMBER

    // False: `why` says what is missing. The library is never closed.
    bool open(std::string& why);
    // "CUDA_ERROR_OUT_OF_MEMORY (out of memory)", in the driver's own words.
    [[nodiscard]] std::string words(Result result) const;
    // Throws Failure with the code that an answer stands for and what to do, unless it is kSuccess. `attempted`: "allocate 64 MiB on H200".
    void check(Result result, const std::string& attempted) const;
};

// Makes a context the calling thread's, and what was before afterwards.
class Current {
public:
    Current(const Driver& driver, Context context) : driver_(driver), pushed_(driver.context_push(context) == kSuccess) {}
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;
    ~Current() {
        Context ours = nullptr;
        if (pushed_) driver_.context_pop(&ours);
    }

private:
    const Driver& driver_;
    bool pushed_;
};

// An object of a context that is ours to give back.
template <typename T>
class Handle {
public:
    using Release = Result (*)(T);
    Handle() = default;
    Handle(T object, Release release, const Driver& driver, Context context)
        : object_(object), release_(release), driver_(&driver), context_(context) {}
    Handle(Handle&& other) noexcept
        : object_(std::exchange(other.object_, T{})),
          release_(other.release_),
          driver_(other.driver_),
          context_(other.context_) {}
    Handle& operator=(Handle other) noexcept {
        std::swap(object_, other.object_);
        std::swap(release_, other.release_);
        std::swap(driver_, other.driver_);
        std::swap(context_, other.context_);
        return *this;
    }
    ~Handle() {
        if (object_ == T{}) return;
        const Current current(*driver_, context_);
        release_(object_);
    }

    [[nodiscard]] T get() const { return object_; }
    explicit operator bool() const { return object_ != T{}; }

private:
    T object_{};
    Release release_{};
    const Driver* driver_ = nullptr;
    Context context_{};
};

}  // namespace backplane::cuda
