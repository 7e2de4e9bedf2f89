// What driver.hpp says of the driver's ABI is what cuda.h says, where that is there.
#include <cuda.h>
#include <gtest/gtest.h>

#include <type_traits>

#include "driver.hpp"

namespace backplane::cuda {
namespace {

TEST(DriverAbi, HasTheNumbersOfCudaH) {
    EXPECT_EQ(int{kOutOfMemory}, CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(int{kDeinitialized}, CUDA_ERROR_DEINITIALIZED);
    EXPECT_EQ(int{kStubLibrary}, CUDA_ERROR_STUB_LIBRARY);
    EXPECT_EQ(int{kNoDevice}, CUDA_ERROR_NO_DEVICE);
    EXPECT_EQ(int{kInvalidImage}, CUDA_ERROR_INVALID_IMAGE);
    EXPECT_EQ(int{kNoBinaryForGpu}, CUDA_ERROR_NO_BINARY_FOR_GPU);
    EXPECT_EQ(int{kEccUncorrectable}, CUDA_ERROR_ECC_UNCORRECTABLE);
    EXPECT_EQ(int{kInvalidPtx}, CUDA_ERROR_INVALID_PTX);
    EXPECT_EQ(int{kNvlinkUncorrectable}, CUDA_ERROR_NVLINK_UNCORRECTABLE);
    EXPECT_EQ(int{kJitCompilerNotFound}, CUDA_ERROR_JIT_COMPILER_NOT_FOUND);
    EXPECT_EQ(int{kUnsupportedPtxVersion}, CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
    EXPECT_EQ(int{kNotReady}, CUDA_ERROR_NOT_READY);
    EXPECT_EQ(int{kIllegalAddress}, CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT_EQ(int{kLaunchOutOfResources}, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    EXPECT_EQ(int{kLaunchTimeout}, CUDA_ERROR_LAUNCH_TIMEOUT);
    EXPECT_EQ(int{kContextIsDestroyed}, CUDA_ERROR_CONTEXT_IS_DESTROYED);
    EXPECT_EQ(int{kAssert}, CUDA_ERROR_ASSERT);
    EXPECT_EQ(int{kHardwareStackError}, CUDA_ERROR_HARDWARE_STACK_ERROR);
    EXPECT_EQ(int{kLaunchFailed}, CUDA_ERROR_LAUNCH_FAILED);
    EXPECT_EQ(int{kNotPermitted}, CUDA_ERROR_NOT_PERMITTED);
    EXPECT_EQ(int{kSystemNotReady}, CUDA_ERROR_SYSTEM_NOT_READY);
    EXPECT_EQ(int{kSystemDriverMismatch}, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH);
    EXPECT_EQ(int{kCompatNotSupported}, CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE);
    EXPECT_EQ(int{kMpsConnectionFailed}, CUDA_ERROR_MPS_CONNECTION_FAILED);
    EXPECT_EQ(int{kUnknown}, CUDA_ERROR_UNKNOWN);
#if CUDA_VERSION >= 12080
    EXPECT_EQ(int{kContained}, CUDA_ERROR_CONTAINED);
    EXPECT_EQ(int{kTensorMemoryLeak}, CUDA_ERROR_TENSOR_MEMORY_LEAK);
#endif
    EXPECT_EQ(int{kMostThreads}, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    EXPECT_EQ(int{kSharedBytes}, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
    EXPECT_EQ(int{kUnits}, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    EXPECT_EQ(int{kIntegrated}, CU_DEVICE_ATTRIBUTE_INTEGRATED);
    EXPECT_EQ(int{kComputeMode}, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE);
    EXPECT_EQ(int{kPciBus}, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID);
    EXPECT_EQ(int{kPciDevice}, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID);
    EXPECT_EQ(int{kPciDomain}, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID);
    EXPECT_EQ(int{kMajor}, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    EXPECT_EQ(int{kMinor}, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    EXPECT_EQ(int{kSharedBytesAtMost}, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    EXPECT_EQ(kDynamicSharedBytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
    EXPECT_EQ(kMapOfHalves, CU_TENSOR_MAP_DATA_TYPE_FLOAT16);
    EXPECT_EQ(kMapSwizzle64, CU_TENSOR_MAP_SWIZZLE_64B);
    EXPECT_EQ(kMapSwizzle128, CU_TENSOR_MAP_SWIZZLE_128B);
    EXPECT_EQ(kMapPromote256, CU_TENSOR_MAP_L2_PROMOTION_L2_256B);
    EXPECT_EQ(0, CU_TENSOR_MAP_INTERLEAVE_NONE);
    EXPECT_EQ(0, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    EXPECT_EQ(sizeof(TensorMap), sizeof(CUtensorMap));
    EXPECT_EQ(kStartsEarly, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
    EXPECT_EQ(sizeof(LaunchAttribute), sizeof(CUlaunchAttribute));
    EXPECT_EQ(offsetof(LaunchAttribute, value), offsetof(CUlaunchAttribute, value));
    EXPECT_EQ(sizeof(LaunchConfig), sizeof(CUlaunchConfig));
    EXPECT_EQ(offsetof(LaunchConfig, shared), offsetof(CUlaunchConfig, sharedMemBytes));
    EXPECT_EQ(offsetof(LaunchConfig, stream), offsetof(CUlaunchConfig, hStream));
    EXPECT_EQ(offsetof(LaunchConfig, attributes), offsetof(CUlaunchConfig, attrs));
    EXPECT_EQ(offsetof(LaunchConfig, attribute_count), offsetof(CUlaunchConfig, numAttrs));
    EXPECT_GE(alignof(TensorMap), alignof(CUtensorMap));
    EXPECT_EQ(kComputeModeProhibited, CU_COMPUTEMODE_PROHIBITED);
    EXPECT_EQ(kHostPortable, unsigned{CU_MEMHOSTALLOC_PORTABLE});
    EXPECT_EQ(kStreamNonBlocking, unsigned{CU_STREAM_NON_BLOCKING});
    EXPECT_EQ(kEventBlocking, unsigned{CU_EVENT_BLOCKING_SYNC});
    EXPECT_EQ(kEventNoTiming, unsigned{CU_EVENT_DISABLE_TIMING});
    EXPECT_EQ(kCaptureRelaxed, CU_STREAM_CAPTURE_MODE_RELAXED);
    EXPECT_EQ(kInputPtx, CU_JIT_INPUT_PTX);
    EXPECT_EQ(kErrorLog, CU_JIT_ERROR_LOG_BUFFER);
    EXPECT_EQ(kErrorLogSize, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
}

// Arguments are passed alike where they have the same size and are both pointers or both numbers.
template <typename Ours, typename Theirs>
constexpr bool alike() {
    if constexpr (std::is_pointer_v<Ours> || std::is_pointer_v<Theirs>) {
        return std::is_pointer_v<Ours> == std::is_pointer_v<Theirs>;
    } else {
        return sizeof(Ours) == sizeof(Theirs);
    }
}
template <typename Ours, typename Theirs>
struct SameCall : std::false_type {};
template <typename... Ours, typename... Theirs>
struct SameCall<Result (*)(Ours...), CUresult (*)(Theirs...)>
    : std::bool_constant<sizeof...(Ours) == sizeof...(Theirs) && (alike<Ours, Theirs>() && ...)> {};
#define BP_SAME(member, theirs) EXPECT_TRUE((SameCall<decltype(Driver::member), decltype(&theirs)>::value)) << #theirs

// cuda.h gives the plain names to the versions that driver.hpp looks up.
TEST(DriverAbi, CallsFunctionsAsCudaHDoes) {
    BP_SAME(init, cuInit);
    BP_SAME(driver_version, cuDriverGetVersion);
    BP_SAME(error_name, cuGetErrorName);
    BP_SAME(error_string, cuGetErrorString);
    BP_SAME(device_count, cuDeviceGetCount);
    BP_SAME(device_get, cuDeviceGet);
    BP_SAME(device_name, cuDeviceGetName);
    BP_SAME(device_uuid, cuDeviceGetUuid);
    BP_SAME(device_memory, cuDeviceTotalMem);
    BP_SAME(device_attribute, cuDeviceGetAttribute);
    BP_SAME(context_retain, cuDevicePrimaryCtxRetain);
    BP_SAME(context_release, cuDevicePrimaryCtxRelease);
    BP_SAME(context_push, cuCtxPushCurrent);
    BP_SAME(context_pop, cuCtxPopCurrent);
    BP_SAME(memory_info, cuMemGetInfo);
    BP_SAME(memory_alloc, cuMemAlloc);
    BP_SAME(memory_free, cuMemFree);
    BP_SAME(host_alloc, cuMemHostAlloc);
    BP_SAME(host_free, cuMemFreeHost);
    BP_SAME(copy_async, cuMemcpyAsync);
    BP_SAME(copy_peer_async, cuMemcpyPeerAsync);
    BP_SAME(peer_enable, cuCtxEnablePeerAccess);
    BP_SAME(fill_async, cuMemsetD8Async);
    BP_SAME(module_load, cuModuleLoadData);
    BP_SAME(module_unload, cuModuleUnload);
    BP_SAME(module_function, cuModuleGetFunction);
    BP_SAME(function_set, cuFuncSetAttribute);
    BP_SAME(map_encode, cuTensorMapEncodeTiled);
    BP_SAME(link_create, cuLinkCreate);
    BP_SAME(link_add, cuLinkAddData);
    BP_SAME(link_complete, cuLinkComplete);
    BP_SAME(link_destroy, cuLinkDestroy);
    BP_SAME(stream_create, cuStreamCreate);
    BP_SAME(stream_destroy, cuStreamDestroy);
    BP_SAME(stream_wait, cuStreamWaitEvent);
    BP_SAME(stream_synchronize, cuStreamSynchronize);
    BP_SAME(event_create, cuEventCreate);
    BP_SAME(event_destroy, cuEventDestroy);
    BP_SAME(event_record, cuEventRecord);
    BP_SAME(event_query, cuEventQuery);
    BP_SAME(event_synchronize, cuEventSynchronize);
    BP_SAME(launch, cuLaunchKernelEx);
    BP_SAME(capture_begin, cuStreamBeginCapture);
    BP_SAME(capture_end, cuStreamEndCapture);
    BP_SAME(graph_instantiate, cuGraphInstantiateWithFlags);
    BP_SAME(graph_destroy, cuGraphDestroy);
    BP_SAME(graph_launch, cuGraphLaunch);
    BP_SAME(graph_run_destroy, cuGraphExecDestroy);
}

}  // namespace
}  // namespace backplane::cuda
