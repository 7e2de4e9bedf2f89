#include "device.hpp"

namespace backplane::cuda {

// For tests: kernels for large maps on small ones, on matrix units wherever they are right, or none of these.
void Api::choose(Abilities& can, const std::string& kernels) {
    if (kernels == "patches" || kernels == "matrix") can.least_patches = 0;
    if (kernels == "patches" || kernels == "no-matrices") can.matrix_tiles = can.attention_matrix = can.warpgroups = false;
    if (!can.attention_matrix) can.float_parts = 0;
}

PrimaryContext::PrimaryContext(const Driver& driver, const PhysicalDevice& physical) : driver_(driver), physical_(physical) {
    driver.check(driver.context_retain(&context_, physical.number), "open " + physical.name);
    *physical.context = context_;
}

PrimaryContext::~PrimaryContext() {
    *physical_.context = nullptr;
    driver_.context_release(physical_.number);
}

Device::Device(const Instance& instance, const PhysicalDevice& p, const Abilities& a)
    : physical(p), can(a), cu(instance.driver()), nccl(instance.nccl()), context(cu, p) {
    const Current current(cu, context.get());
    for (uint32_t i = 0; i < physical.queues + physical.copy_queues; ++i) queues.push_back({*this, make_stream()});
    capture = make_stream();
    beside = make_stream();
    for (Handle<Event>* event : {&fork, &join}) {
        Event made = nullptr;
        cu.check(cu.event_create(&made, kEventNoTiming), "open " + physical.name);
        *event = own(made, cu.event_destroy);
    }
}

Device::~Device() {
    const Current current(cu, context.get());
    for (const Queue& queue : queues) cu.stream_synchronize(queue.stream.get());
    nccl.forget(physical.number, context.get());
}

Handle<Stream> Device::make_stream() const {
    Stream stream = nullptr;
    cu.check(cu.stream_create(&stream, kStreamNonBlocking), "open " + physical.name);
    return own(stream, cu.stream_destroy);
}

Block Api::allocate(Device& device, uint64_t bytes, gpu::Placement placement) {
    const Driver& cu = device.cu;
    const Current current(cu, device.context.get());
    Block block;
    if (placement == gpu::Placement::pinned) {
        void* memory = nullptr;
        const Result result = cu.host_alloc(&memory, bytes, kHostPortable);
        const std::string attempted =
            "allocate " + std::to_string(bytes) + " bytes of pinned memory for " + device.physical.name;
        if (result == kOutOfMemory)
            throw sdk::Failure(BP_NO_HOST_MEMORY, attempted + ": " + cu.words(result) + "; free memory of the process",
                               result);
        cu.check(result, attempted);
        block.pinned = device.own(memory, cu.host_free);
        return block;
    }
    Address memory = 0;
    cu.check(cu.memory_alloc(&memory, bytes), "allocate " + std::to_string(bytes) + " bytes on " + device.physical.name);
    block.memory = device.own(memory, cu.memory_free);
    return block;
}

Block Api::import(Device& device, void*, uint64_t) {
    throw sdk::Failure(BP_UNSUPPORTED,
                       "buffer_import on " + device.physical.name +
                           ": kernels would read the host's memory across the bus each time; copy it instead");
}

std::byte* Api::map(Device&, const Range& range) {
    auto* memory = static_cast<std::byte*>(range.block->pinned.get());
    return memory != nullptr ? memory + range.offset : nullptr;
}

}  // namespace backplane::cuda
