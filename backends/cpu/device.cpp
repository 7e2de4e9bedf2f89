// What the host asks of the device beside programs: heaps, options, buffers, copies.
#include "device.hpp"

#include <cstring>

#include "common/query.hpp"
#include "lowering.hpp"
#include "processors.hpp"

namespace backplane::cpu {

std::vector<bp_heap> Device::heaps() {
    const Memory memory = system_memory();
    bp_heap heap{};
    heap.flags = BP_MEM_UNIFIED | BP_MEM_HOST_VISIBLE;
    if (memory.total != 0) heap.flags |= BP_MEM_BUDGET;
    heap.total = memory.total;
    heap.available = memory.available;
    heap.largest_block = memory.available;
    heap.alignment = kAlignment;
    return {heap};
}

std::vector<bp_option> Device::options() const {
    bp_option option{};
    option.type = BP_OPTION_INT;
    option.name = "threads";
    option.help = "Threads that compute; results do not depend on it.";
    option.integer = pool.wanted_threads();
    option.integer_least = 1;
    option.integer_most = kMostThreads;
    return {option};
}

void Device::set_option(const bp_option& option) {
    const std::string name = option.name;
    if (name != "threads") throw sdk::Failure(BP_NOT_FOUND, "the cpu has no option '" + name + "'; it has: threads");
    if (option.type != BP_OPTION_INT || option.integer < 1 || option.integer > kMostThreads)
        throw sdk::Failure(BP_INVALID, "option threads takes a whole number from 1 to 256");
    pool.set_threads(static_cast<uint32_t>(option.integer));
}

void Device::query(const bp_graph& graph, const bp_array& answers) {
    backend::answer_query<Plan>(&graph, answers, check_node);
}

std::unique_ptr<Buffer> Device::create(uint32_t heap, uint64_t size) const {
    if (heap != 0) throw sdk::Failure(BP_INVALID, "buffer_create: the cpu has one heap, 0");
    if (size > PTRDIFF_MAX) throw sdk::Failure(BP_NO_DEVICE_MEMORY, "buffer_create: larger than the address space");
    queues.expect_there("buffer_create");
    auto buffer = std::make_unique<Buffer>();
    const size_t page = large_page();
    buffer->own = HostMemory(host, size, page != 0 && size >= 2 * page ? page : kAlignment);
    buffer->data = buffer->own.data();
    buffer->size = size;
    return buffer;
}

std::unique_ptr<Buffer> Device::import(void* memory, uint64_t size) {
    // Kernels use unaligned loads, so the alignment of an element is enough. What is taken is an address and no more: see loans in extensions.cpp.
    if (reinterpret_cast<uintptr_t>(memory) % kLoanAlignment != 0)
        throw sdk::Failure(BP_UNSUPPORTED, "buffer_import: memory must be 8-byte aligned; copy it instead");
    auto buffer = std::make_unique<Buffer>();
    buffer->data = static_cast<std::byte*>(memory);
    buffer->size = size;
    return buffer;
}

void Device::copy(const bp_copy& c) {
    // Whose the source is makes no difference to memory of the host.
    if (c.from_device == reinterpret_cast<bp_device*>(this) ||
        (c.from_device != nullptr && (c.from_buffer == nullptr || c.to_buffer == nullptr)))
        backend::invalid("copy: with from_device, it is from another device's buffer to one of this device");
    const auto sides = backend::sides_of(c, BP_COPY_ZERO, buffer_of);
    constexpr uint64_t kBrief = 65536;  // copies of fewer bytes take no longer than to wake a thread for them
    queues.submit({"copy", c.queue, c.wait, c.signal, nullptr, c.bytes <= kBrief, c.peer_wait},
                  [from = at(sides.from), to = at(sides.to), zero = sides.zero, bytes = c.bytes] {
                      backend::copy_in_memory(zero ? nullptr : from, to, bytes);
                  });
}

}  // namespace backplane::cpu
