// What an interface to GPUs (Vulkan, OpenCL, ...) must say of itself so that gpu::ModuleTable<A> makes a module of it; docs/gpu-api.md goes
// through it call by call. Everything that does not depend on the interface exists once, above: device.hpp, memory.hpp, order.hpp, program.hpp.
//
// Objects are movable and give back what they hold when they go. A function throws sdk::Failure with the driver's number, BP_DEVICE_LOST where
// the driver says so. None starts a thread. [any]: from any thread at any time; [queue]: one call per queue at a time.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backplane/sdk.hpp"
#include "common/gpu/abilities.hpp"
#include "common/hash.hpp"
#include "kernels_generated.h"

namespace backplane::gpu {

// What is known of a device without opening it; an Api's Physical derives from it. The host is told so; texts are kept here, and the place on the bus.
struct Facts : bp_device_info {
    Facts() : bp_device_info{} { queues = 1; }

    Abilities can;
    std::string name, driver, features, warning;
    std::string memory_source;  // who says how much is free
    std::string build_options;  // of every kernel
    uint32_t pci[4] = {};
    bool uuid_known = false, luid_known = false, pci_known = false;
    bool peers = false;        // open devices of the instance that say so copy from one another
    uint64_t fingerprint = 0;  // of all but the kernels
};

// A kernel as the module carries it. An Api's table has one for each gpu::Kernel, in that order.
struct KernelSource {
    const char* name;         // "conv_f16"
    const char* entry;        // null: this Api does not have the kernel
    const void* code;         // text or words
    size_t bytes;             // of it
    const char* definitions;  // that make a variant of a text: " -DHALF"
};

// Changes when any kernel of an Api's table does: of megabytes, of which several kernels may have the same text, at each start of a process.
inline uint64_t hash_of(const KernelSource* kernels) {
    uint64_t hash = backend::hash_of("", 0);
    std::set<const void*> seen;
    for (const KernelSource& kernel : std::span(kernels, kKernelCount)) {
        if (kernel.entry == nullptr) continue;
        hash = backend::hash_of(kernel.definitions, std::strlen(kernel.definitions), hash);
        if (seen.insert(kernel.code).second) hash = backend::hash_of_words(kernel.code, kernel.bytes, hash);
    }
    return hash;
}

// By what is known of the devices; those of the same make and without a known place are told apart by their order.
template <typename Physical>
void give_ids(std::vector<Physical>& devices) {
    for (Facts& d : devices) {
        const uint64_t place = backend::hash_of(d.pci, sizeof d.pci, backend::hash_of(d.uuid, sizeof d.uuid));
        const std::string make = d.driver + "/" + d.name;
        d.id = backend::hash_of(make.data(), make.size(), place) | 1;
    }
    for (size_t i = 0; i < devices.size(); ++i)
        for (size_t j = 0; j < i; ++j)
            if (devices[j].id == devices[i].id) devices[i].id = backend::hash_of(&i, sizeof i, devices[i].id) | 1;
}

// Where a kernel came from: the host's cache, its source, or its source because the driver did not take what the cache had.
enum class Origin : uint8_t { source, binary, refused };

enum class Placement : uint8_t {
    device,
    pinned  // host memory that copies reach at full speed, mapped for life
};

// Bytes of a block; a null block stands for no bytes. A kernel sees elements of `element` bytes.
template <typename Block>
struct Range {
    Block* block = nullptr;
    uint64_t offset = 0, bytes = 0;
    uint32_t element = 1;
    bool given = true;  // false: kernels leave it alone
};

struct Extent {
    uint32_t groups[3] = {1, 1, 1}, local = 128;
};

// A value of a timeline that work waits for.
template <typename Timeline>
struct Until {
    Timeline* timeline;
    uint64_t value;
};

inline constexpr uint64_t kForEver = UINT64_MAX;  // nanoseconds

template <typename A>
concept Api = std::derived_from<typename A::Physical, Facts> && std::movable<typename A::Block> &&
    std::movable<typename A::Kernel> && std::movable<typename A::Recording> &&
    std::default_initializable<typename A::Instance> &&
    // Opens the device, with its queues; waits for its work when it goes.
    std::constructible_from<typename A::Device, const typename A::Instance&, const typename A::Physical&,
                            const Abilities&> &&
    requires(const typename A::Instance& instance, const typename A::Physical& physical, Abilities& can,
             typename A::Device& device, typename A::Queue& queue, typename A::Block& block, typename A::Kernel& kernel,
             typename A::Recording& recording, const typename A::Recording& done, typename A::Timeline& timeline,
             Range<typename A::Block> range, std::span<const Range<typename A::Block>> ranges,
             std::span<const uint32_t> words, std::span<const std::byte> bytes,
             std::span<const Until<typename A::Timeline>> waits, const std::string& text, Extent extent, void* memory,
             uint64_t n, uint32_t i) {
    { A::kName } -> std::convertible_to<const char*>;     // "Vulkan", for messages
    { A::kBackend } -> std::convertible_to<const char*>;  // "vulkan": of options, of keys in the kernel cache
    { A::kKernelOptions } -> std::convertible_to<std::initializer_list<const char*>>;  // values of the option NAME.kernels
    { A::kSegmentWorkOfSoftware } -> std::convertible_to<double>;  // operations of a segment where can.software
    { A::kernels() } -> std::same_as<const KernelSource*>;

    // Devices. An instance is made when devices are first asked for, and never throws for a machine without any. [any]
    { instance.devices() } -> std::same_as<const std::vector<typename A::Physical>&>;
    { instance.why() } -> std::convertible_to<std::string>;       // none, or some that cannot be used
    { instance.free_bytes(physical) } -> std::same_as<uint64_t>;  // 0: the driver does not say; 1: none
    {A::choose(can, text)};                                       // what the option NAME.kernels takes away
    { device.queues[i] } -> std::same_as<typename A::Queue&>;     // below Facts::queues + copy_queues

    // Memory. [any]
    { A::allocate(device, n, Placement::device) } -> std::same_as<typename A::Block>;  // really there when it returns
    { A::import(device, memory, n) } -> std::same_as<typename A::Block>;               // BP_UNSUPPORTED: copy
    { A::map(device, range) } -> std::same_as<std::byte*>;  // null: the host does not see it. Nothing is under way there
    {A::unmap(device, range, memory)};

    // Kernels. [any]
    // Of an id, with constants; the bytes are what binary() gave once, or none.
    { A::build(device, i, words, bytes) } -> std::same_as<typename A::Kernel>;
    { kernel.origin } -> std::convertible_to<Origin>;
    // To keep; empty: nothing new. true: it has run.
    { A::binary(device, kernel, true) } -> std::same_as<std::vector<std::byte>>;
    {A::built(device)};  // nothing is left to build for now

    // Recording: commands for one set of buffers, submitted as often as wanted, on one queue at a time.
    { A::begin(device, i) } -> std::same_as<typename A::Recording>;  // of at most so many dispatches
    {A::dispatch(recording, kernel, ranges, words, range, extent)};  // parameters: by value, and where the device has them
    {A::move(recording, range, range)};                              // ranges that do not overlap
    {A::barrier(recording)};                                         // what follows sees what was written
    {A::end(recording)};

    // Order. What is submitted to a queue begins when all before it there has ended, and sees what it wrote. [queue]
    { A::timeline(device, queue) } -> std::same_as<std::unique_ptr<typename A::Timeline>>;
    {A::submit(queue, done, waits, timeline, n)};        // signals n when done
    {A::copy(queue, range, range, waits, timeline, n)};  // pinned or device; from no block: zeros
    { A::reached(timeline) } -> std::same_as<uint64_t>;  // [any] throws BP_DEVICE_LOST when work failed
    { A::wait(timeline, n, n) } -> std::same_as<bool>;   // [any] value, nanoseconds; false: not reached
};

// Of an Api with devices that are peers: as A::copy, from a range of another device. The waits may be of its timelines.
template <typename A>
concept kHasPeers = requires(typename A::Device& from, typename A::Queue& queue, Range<typename A::Block> range,
                             std::span<const Until<typename A::Timeline>> waits, typename A::Timeline& timeline,
                             uint64_t n) {
    {A::copy_from_peer(queue, from, range, range, waits, timeline, n)};
    { A::is_lost(from) } -> std::same_as<bool>;  // asks the driver
};

}  // namespace backplane::gpu
