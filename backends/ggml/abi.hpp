// What this module knows of ggml's binary interface: names, signatures, enum values and the fields it touches, as of ggml 0.25. Facts only;
// nothing of ggml is compiled in. What can be measured in the library at hand is measured before any of it is used (base_library.cpp).
#pragma once

#include <cstddef>
#include <cstdint>

namespace backplane::ggml {

inline constexpr int kApiVersion =
    2;  // of a backend registration; also that of releases with other tables, so no evidence by itself
inline constexpr int kDims = 4;
inline constexpr int kMostThreads = 512;

enum Type : int32_t {
    kF32 = 0,
    kF16 = 1,
    kQ4_0 = 2,
    kQ4_1 = 3,
    kQ5_0 = 6,
    kQ5_1 = 7,
    kQ8_0 = 8,
    kQ2_K = 10,
    kQ3_K = 11,
    kQ4_K = 12,
    kQ5_K = 13,
    kQ6_K = 14,
    kIQ4_NL = 20,
    kIQ4_XS = 23,
    kI8 = 24,
    kI16 = 25,
    kI32 = 26,
    kI64 = 27,
    kF64 = 28,
    kBF16 = 30
};
enum Status : int32_t { kAllocFailed = -2, kFailed = -1, kSuccess = 0, kAborted = 1 };
enum DeviceType : int32_t { kTypeCpu = 0, kTypeGpu = 1, kTypeIntegrated = 2, kTypeAccelerator = 3, kTypeMeta = 4 };
enum BufferUsage : int32_t { kUsageAny = 0, kUsageWeights = 1, kUsageCompute = 2 };
enum ScaleMode : uint32_t { kScaleNearest = 0, kScaleBilinear = 1, kScaleAlignCorners = 1U << 8 };
enum LogLevel : int32_t { kLogDebug = 1, kLogInfo = 2, kLogWarn = 3, kLogError = 4, kLogContinue = 5 };

struct Context;
struct Graph;
struct Registration;
struct Device;
struct BufferType;
struct Buffer;
struct Backend;
struct Threadpool;

// The part of a tensor that stands before its name, whose length is a build option of ggml.
struct Tensor {
    int32_t type;
    Buffer* buffer;
    int64_t ne[kDims];  // elements, innermost axis first
    size_t nb[kDims];   // stride in bytes
    int32_t op;
    int32_t op_params[16];
    int32_t flags;
    Tensor* src[10];
    Tensor* view_src;
    size_t view_offset;
    void* data;
    char name[1];
};

struct InitParams {
    size_t memory_size;
    void* memory;
    bool no_alloc;
};

struct DeviceCaps {
    bool async, host_buffer, buffer_from_host_ptr, events, mmap_support;
};

struct DeviceProps {
    const char* name;
    const char* description;
    size_t memory_free, memory_total;
    int32_t type;
    const char* device_id;  // "0000:c1:00.0" or null
    DeviceCaps caps;
    char spare[64];  // room for what later releases append
};

struct Feature {
    const char* name;
    const char* value;
};

struct ThreadpoolParams {
    bool cpu_mask[kMostThreads];
    int32_t threads;
    int32_t priority;
    uint32_t poll;
    bool strict_cpu;
    bool paused;
};

using LogCallback = void (*)(int32_t level, const char* text, void* user);
using AbortCallback = void (*)(const char* message);
using ComputeAbortCallback = bool (*)(void* data);

// Exported by a backend module.
using ModuleInit = Registration* (*)();
using ModuleScore = int (*)();

// From ggml_backend_reg_get_proc_address.
using SetThreads = void (*)(Backend*, int);
using GetFeatures = Feature* (*)(Registration*);
using SetAbortCallback = void (*)(Backend*, ComputeAbortCallback, void*);
using ThreadpoolNew = Threadpool* (*)(ThreadpoolParams*);
using ThreadpoolFree = void (*)(Threadpool*);
using SetThreadpool = void (*)(Backend*, Threadpool*);

// X(return type, name without "ggml_", parameters): functions of libggml-base that this module cannot do without.
#define BP_GGML_FUNCTIONS(X)                                                                                               \
    X(size_t, tensor_overhead, ())                                                                                         \
    X(size_t, graph_overhead_custom, (size_t nodes, bool gradients))                                                       \
    X(Context*, init, (InitParams))                                                                                        \
    X(void, free, (Context*))                                                                                              \
    X(int64_t, nelements, (const Tensor*))                                                                                 \
    X(size_t, nbytes, (const Tensor*))                                                                                     \
    X(size_t, type_size, (int32_t type))                                                                                   \
    X(int64_t, blck_size, (int32_t type))                                                                                  \
    X(const char*, type_name, (int32_t type))                                                                              \
    X(const char*, op_desc, (const Tensor*))                                                                               \
    X(void*, get_data, (const Tensor*))                                                                                    \
    X(const char*, get_name, (const Tensor*))                                                                              \
    X(void, log_set, (LogCallback, void* user))                                                                            \
    X(Tensor*, new_tensor_4d, (Context*, int32_t type, int64_t, int64_t, int64_t, int64_t))                                \
    X(Tensor*, view_4d, (Context*, Tensor*, int64_t, int64_t, int64_t, int64_t, size_t, size_t, size_t, size_t offset))    \
    X(Tensor*, reshape_4d, (Context*, Tensor*, int64_t, int64_t, int64_t, int64_t))                                        \
    X(Tensor*, permute, (Context*, Tensor*, int, int, int, int))                                                           \
    X(Tensor*, cont, (Context*, Tensor*))                                                                                  \
    X(Tensor*, cpy, (Context*, Tensor * from, Tensor * to))                                                                \
    X(Tensor*, cast, (Context*, Tensor*, int32_t type))                                                                    \
    X(Tensor*, repeat_4d, (Context*, Tensor*, int64_t, int64_t, int64_t, int64_t))                                         \
    X(Tensor*, add, (Context*, Tensor*, Tensor*))                                                                          \
    X(Tensor*, sub, (Context*, Tensor*, Tensor*))                                                                          \
    X(Tensor*, mul, (Context*, Tensor*, Tensor*))                                                                          \
    X(Tensor*, div, (Context*, Tensor*, Tensor*))                                                                          \
    X(Tensor*, abs, (Context*, Tensor*))                                                                                   \
    X(Tensor*, neg, (Context*, Tensor*))                                                                                   \
    X(Tensor*, exp, (Context*, Tensor*))                                                                                   \
    X(Tensor*, log, (Context*, Tensor*))                                                                                   \
    X(Tensor*, sqr, (Context*, Tensor*))                                                                                   \
    X(Tensor*, sqrt, (Context*, Tensor*))                                                                                  \
    X(Tensor*, sin, (Context*, Tensor*))                                                                                   \
    X(Tensor*, cos, (Context*, Tensor*))                                                                                   \
    X(Tensor*, relu, (Context*, Tensor*))                                                                                  \
    X(Tensor*, step, (Context*, Tensor*))                                                                                  \
    X(Tensor*, leaky_relu, (Context*, Tensor*, float slope, bool in_place))                                                \
    X(Tensor*, sigmoid, (Context*, Tensor*))                                                                               \
    X(Tensor*, tanh, (Context*, Tensor*))                                                                                  \
    X(Tensor*, gelu, (Context*, Tensor*))                                                                                  \
    X(Tensor*, gelu_erf, (Context*, Tensor*))                                                                              \
    X(Tensor*, silu, (Context*, Tensor*))                                                                                  \
    X(Tensor*, softplus, (Context*, Tensor*))                                                                              \
    X(Tensor*, clamp, (Context*, Tensor*, float least, float most))                                                        \
    X(Tensor*, scale, (Context*, Tensor*, float))                                                                          \
    X(Tensor*, scale_bias, (Context*, Tensor*, float scale, float bias))                                                   \
    X(Tensor*, fill, (Context*, Tensor*, float))                                                                           \
    X(Tensor*, mul_mat, (Context*, Tensor * weights, Tensor * x))                                                          \
    X(Tensor*, im2col,                                                                                                     \
      (Context*, Tensor * kernel, Tensor * x, int s0, int s1, int p0, int p1, int d0, int d1, bool two, int32_t type))     \
    X(Tensor*, conv_2d_direct, (Context*, Tensor * kernel, Tensor * x, int s0, int s1, int p0, int p1, int d0, int d1))    \
    X(Tensor*, conv_2d_dw_direct, (Context*, Tensor * kernel, Tensor * x, int s0, int s1, int p0, int p1, int d0, int d1)) \
    X(Tensor*, get_rows, (Context*, Tensor * data, Tensor * rows))                                                         \
    X(Tensor*, interpolate, (Context*, Tensor*, int64_t, int64_t, int64_t, int64_t, uint32_t mode))                        \
    X(Tensor*, soft_max, (Context*, Tensor*))                                                                              \
    X(Tensor*, norm, (Context*, Tensor*, float epsilon))                                                                   \
    X(Tensor*, rms_norm, (Context*, Tensor*, float epsilon))                                                               \
    X(Tensor*, group_norm, (Context*, Tensor*, int groups, float epsilon))                                                 \
    X(Tensor*, sum_rows, (Context*, Tensor*))                                                                              \
    X(Tensor*, mean, (Context*, Tensor*))                                                                                  \
    X(Graph*, new_graph_custom, (Context*, size_t nodes, bool gradients))                                                  \
    X(void, build_forward_expand, (Graph*, Tensor*))                                                                       \
    X(int, graph_n_nodes, (Graph*))                                                                                        \
    X(Tensor*, graph_node, (Graph*, int))                                                                                  \
    X(const char*, backend_reg_name, (Registration*))                                                                      \
    X(size_t, backend_reg_dev_count, (Registration*))                                                                      \
    X(Device*, backend_reg_dev_get, (Registration*, size_t))                                                               \
    X(void*, backend_reg_get_proc_address, (Registration*, const char*))                                                   \
    X(Registration*, backend_dev_backend_reg, (Device*))                                                                   \
    X(void, backend_dev_get_props, (Device*, DeviceProps*))                                                                \
    X(void, backend_dev_memory, (Device*, size_t * free, size_t * total))                                                  \
    X(Backend*, backend_dev_init, (Device*, const char* params))                                                           \
    X(BufferType*, backend_dev_buffer_type, (Device*))                                                                     \
    X(Buffer*, backend_dev_buffer_from_host_ptr, (Device*, void*, size_t size, size_t largest_tensor))                     \
    X(bool, backend_dev_supports_op, (Device*, const Tensor*))                                                             \
    X(Device*, backend_buft_get_device, (BufferType*))                                                                     \
    X(Buffer*, backend_buft_alloc_buffer, (BufferType*, size_t))                                                           \
    X(size_t, backend_buft_get_alignment, (BufferType*))                                                                   \
    X(size_t, backend_buft_get_max_size, (BufferType*))                                                                    \
    X(size_t, backend_buft_get_alloc_size, (BufferType*, const Tensor*))                                                   \
    X(bool, backend_buft_is_host, (BufferType*))                                                                           \
    X(BufferType*, backend_buffer_get_type, (Buffer*))                                                                     \
    X(void, backend_buffer_free, (Buffer*))                                                                                \
    X(void*, backend_buffer_get_base, (Buffer*))                                                                           \
    X(size_t, backend_buffer_get_size, (Buffer*))                                                                          \
    X(void, backend_buffer_set_usage, (Buffer*, int32_t))                                                                  \
    X(int32_t, backend_tensor_alloc, (Buffer*, Tensor*, void* address))                                                    \
    X(int32_t, backend_view_init, (Tensor*))                                                                               \
    X(void, backend_tensor_set, (Tensor*, const void*, size_t offset, size_t size))                                        \
    X(void, backend_tensor_get, (const Tensor*, void*, size_t offset, size_t size))                                        \
    X(void, backend_tensor_copy, (const Tensor*, Tensor*))                                                                 \
    X(Device*, backend_get_device, (Backend*))                                                                             \
    X(int32_t, backend_graph_compute, (Backend*, Graph*))                                                                  \
    X(void, backend_free, (Backend*))

// The same, for functions that older releases lack: null there.
#define BP_GGML_OPTIONAL_FUNCTIONS(X)                     \
    X(const char*, version, ())                           \
    X(const char*, commit, ())                            \
    X(AbortCallback, set_abort_callback, (AbortCallback)) \
    X(Tensor*, trunc, (Context*, Tensor*))                \
    X(Tensor*, reglu, (Context*, Tensor*))                \
    X(Tensor*, geglu_quick, (Context*, Tensor*))

}  // namespace backplane::ggml
