// What is behind the handles of module.h.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backplane/sdk.hpp"
#include "common/host.hpp"
#include "common/requests.hpp"
#include "errors.hpp"
#include "installation.hpp"

namespace backplane::ggml {

class OpenDevice;
class Program;
struct DeviceBuffer;

// One per open(). Strings of its devices live as long as it does.
struct Module {
    using Device = OpenDevice;
    using Program = ggml::Program;
    using Buffer = DeviceBuffer;

    explicit Module(const bp_host& host);
    ~Module();
    Module(const Module&) = delete;
    Module& operator=(const Module&) = delete;

    [[nodiscard]] uint32_t count() const;
    [[nodiscard]] std::string why() const { return count() == 0 ? why_none : ""; }
    [[nodiscard]] bp_device_info info(uint32_t index) const;
    [[nodiscard]] std::unique_ptr<OpenDevice> open(uint64_t id) const;

    backend::Host host;
    ErrorListener errors{host};
    std::unique_ptr<const Installation> installation;  // null: there is none
    std::string why_none;
    std::vector<std::string> drivers;  // one per device
};

// One per device_open().
class OpenDevice {
public:
    OpenDevice(const Module& module, const FoundDevice& found);
    ~OpenDevice();
    OpenDevice(const OpenDevice&) = delete;
    OpenDevice& operator=(const OpenDevice&) = delete;

    [[nodiscard]] std::vector<bp_heap> heaps() const;
    [[nodiscard]] std::vector<bp_option> options() const;
    void set_option(const bp_option& option);
    // One answer per node: what ggml itself says of the ops each would become.
    void query(const bp_graph& graph, const bp_array& answers) const;
    std::unique_ptr<DeviceBuffer> create(uint32_t heap, uint64_t size);
    std::unique_ptr<DeviceBuffer> import(void* memory, uint64_t size);
    void copy(const bp_copy& request);  // [device]

    void set_threads(int threads);  // CPU only; [device]
    [[nodiscard]] int threads() const { return threads_; }
    [[nodiscard]] bool has_threads() const { return set_n_threads_ != nullptr; }

    // Computes, and returns when done. Throws sdk::Failure. [device]
    void compute(Graph* graph, const volatile uint32_t* cancel);

    // A buffer of ggml's with room for so many bytes, perhaps one that was given back; null: there is no memory. [any]
    Buffer* take_buffer(uint64_t bytes);
    void give_buffer(Buffer* buffer) noexcept;

    const Module& module;
    const BaseLibrary& base;
    const FoundDevice& found;
    BufferType* type = nullptr;
    bool host_memory = false;  // buffers can be read and written by the processor
    size_t alignment = 1;
    size_t largest = 0;
    std::atomic<uint64_t> bytes_used = 0;
    std::atomic<uint64_t> next_buffer = 1;
    std::atomic<bool> native = false;  // let ggml round as it does by itself, in every program compiled from now on

private:
    static bool cancelled(void* self);
    void apply_threads();

    // Memory of a device of its own is dear to get: what is given back is kept for the next who asks, up to a bound. A driver that computes on
    // the processor gets nothing back before the end: Mesa's (22.3) goes on using memory that ggml's Vulkan module has freed.
    struct Spare {
        Buffer* buffer;
        uint64_t bytes;
    };
    void drop_spares() noexcept;
    std::mutex spare_mutex_;
    std::vector<Spare> spares_;  // given back last: last
    uint64_t spare_bytes_ = 0;
    uint64_t most_spare_bytes_ = 0;

    Backend* backend_ = nullptr;
    SetThreads set_n_threads_ = nullptr;
    Threadpool* pool_ = nullptr;
    std::atomic<int> threads_ = 1;
    int pool_threads_ = 0;
    const volatile uint32_t* cancel_ = nullptr;
};

struct DeviceBuffer {
    DeviceBuffer(OpenDevice& device, uint64_t size);                // throws sdk::Failure
    DeviceBuffer(OpenDevice& device, void* memory, uint64_t size);  // in place; throws sdk::Failure(BP_UNSUPPORTED)
    ~DeviceBuffer();
    DeviceBuffer(const DeviceBuffer&) = delete;
    DeviceBuffer& operator=(const DeviceBuffer&) = delete;

    void* map(uint64_t offset, uint64_t bytes) const;  // throws sdk::Failure(BP_UNSUPPORTED)

    OpenDevice& device;
    Buffer* buffer = nullptr;    // null: no bytes
    std::byte* start = nullptr;  // as ggml counts; only readable when the device has host memory
    uint64_t size = 0;
    uint64_t serial = 0;  // no other buffer of this device has had it
    bool imported = false;
};

inline DeviceBuffer* buffer_of(bp_buffer* handle) { return reinterpret_cast<DeviceBuffer*>(handle); }

}  // namespace backplane::ggml
