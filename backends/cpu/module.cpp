// The ABI line: every function of the table, each a few lines over the classes behind it.
#include <algorithm>
#include <cstring>
#include <mutex>

#include "common/query.hpp"
#include "cpu_features.hpp"
#include "device.hpp"
#include "extensions.hpp"
#include "processors.hpp"
#include "program.hpp"

namespace backplane::cpu {

namespace {

constexpr uint32_t kMostThreads = 256;

struct Module {
    explicit Module(const bp_host* table)
        : host(table), level(choose_level(host.option("host.cpu-mask"))), name(processor_name()), units(usable_threads()) {}
    Host host;
    Level level;
    std::string name;
    uint32_t units;
};

// Copies move bytes beside a run where there is a processor for them.
uint32_t copy_queues_of(const Module& module) { return module.units > 1 ? 1 : 0; }

Module* of(bp_module* m) { return reinterpret_cast<Module*>(m); }
Device* of(bp_device* d) { return reinterpret_cast<Device*>(d); }
Program* of(bp_program* p) { return reinterpret_cast<Program*>(p); }
Buffer* of(bp_buffer* b) { return reinterpret_cast<Buffer*>(b); }

bp_code module_open(const bp_host* host, bp_module** out, bp_error* error) {
    return sdk::guard(error, [&] { *out = reinterpret_cast<bp_module*>(new Module(host)); });
}

void module_close(bp_module* module) { delete of(module); }

const void* extension(bp_module*, const char* id) { return find_extension(id); }

bp_code list(bp_module* module, const bp_array* infos, uint32_t* count, bp_error* error) {
    return sdk::guard(error, [&] {
        *count = 1;
        if (infos == nullptr || infos->count == 0) return;
        const Module& m = *of(module);
        const Memory memory = system_memory();
        bp_device_info info{};
        info.kind = BP_KIND_CPU;
        info.id = 1;
        info.name = m.name.c_str();
        info.fingerprint[0] = layout_id(m.level.name);
        info.fingerprint[1] = layout_id(m.name);
        info.capabilities = BP_CAN_IMPORT_HOST | BP_CAN_MAP | BP_CAN_ASYNC | BP_CAN_PEER;
        info.queues = Device::kQueues;
        info.copy_queues = copy_queues_of(m);
        info.memory_total = memory.total;
        info.memory_free = memory.available;
        info.memory_source = memory.source;
        info.dtypes = 1u << BP_F32 | 1u << BP_F16 | 1u << BP_BF16 | 1u << BP_F64;
        info.units = m.units;
        info.features = m.level.name.c_str();
        sdk::write(BP_AT_OUT(bp_device_info, infos, 0), info);
    });
}

bp_code device_open(bp_module* module, uint64_t id, bp_device** out, bp_error* error) {
    return sdk::guard(error, [&] {
        if (id != 1) throw sdk::Failure(BP_NOT_FOUND, "device_open: the cpu backend has no device " + std::to_string(id));
        const Module& m = *of(module);
        const uint32_t threads = m.host.number("cpu.threads", 1, kMostThreads, m.units);
        const uint32_t lose_after = m.host.lose_after("cpu");
        const uint32_t cores =
            m.level.kernels.tiles.run != nullptr ? usable_cores() : m.units;  // nothing else asks for them
        *out = reinterpret_cast<bp_device*>(new Device(m.host, m.level, threads, copy_queues_of(m), lose_after, cores));
    });
}

void device_close(bp_device* device) { delete of(device); }

bp_code heaps(bp_device*, const bp_array* heaps, uint32_t* count, bp_error* error) {
    return sdk::guard(error, [&] {
        *count = 1;
        if (heaps == nullptr || heaps->count == 0) return;
        const Memory memory = system_memory();
        bp_heap heap{};
        heap.flags = BP_MEM_UNIFIED | BP_MEM_HOST_VISIBLE;
        if (memory.total != 0) heap.flags |= BP_MEM_BUDGET;
        heap.total = memory.total;
        heap.available = memory.available;
        heap.largest_block = memory.available;
        heap.alignment = kAlignment;
        sdk::write(BP_AT_OUT(bp_heap, heaps, 0), heap);
    });
}

bp_code options(bp_device* device, const bp_array* options, uint32_t* count, bp_error* error) {
    return sdk::guard(error, [&] {
        *count = 1;
        if (options == nullptr || options->count == 0) return;
        bp_option option{};
        option.type = BP_OPTION_INT;
        option.name = "threads";
        option.help = "Threads that compute; results do not depend on it.";
        option.integer = of(device)->pool.wanted_threads();
        option.integer_least = 1;
        option.integer_most = kMostThreads;
        sdk::write(BP_AT_OUT(bp_option, options, 0), option);
    });
}

bp_code option_set(bp_device* device, const bp_option* option, bp_error* error) {
    return sdk::guard(error, [&] {
        const bp_option o = sdk::read(option);
        const std::string name = o.name != nullptr ? o.name : "";
        if (name != "threads") throw sdk::Failure(BP_NOT_FOUND, "the cpu has no option '" + name + "'; it has: threads");
        if (o.type != BP_OPTION_INT || o.integer < 1 || o.integer > kMostThreads)
            throw sdk::Failure(BP_INVALID, "option threads takes a whole number from 1 to 256");
        of(device)->pool.set_threads(static_cast<uint32_t>(o.integer));
    });
}

bp_code query(bp_device*, const bp_graph* graph, const bp_array* answers, bp_error* error) {
    return sdk::guard(error, [&] { backend::answer_query<Plan>(graph, *answers, check_node); });
}

bp_code compile(bp_device* device, const bp_graph* graph, const bp_compile* how, bp_program** out, bp_error* error) {
    return sdk::guard(error, [&] {
        const bp_compile h = how != nullptr ? sdk::read(how) : bp_compile{};
        of(device)->queues.expect_there("compile");
        *out = reinterpret_cast<bp_program*>(new Program(*of(device), graph, h));
    });
}

bp_code program_info(bp_program* program, bp_program_info* info, bp_error* error) {
    return sdk::guard(error, [&] { sdk::write(info, of(program)->info()); });
}

// One side of a copy: a pointer and the bytes that may be touched there.
struct Side {
    std::byte* data;
    uint64_t room;
};

Side side_of(bp_buffer* buffer, void* host, uint64_t offset) {
    if (buffer == nullptr) {  // a host pointer takes the offset too
        auto* data = static_cast<std::byte*>(host);
        return {data != nullptr ? data + offset : nullptr, data != nullptr ? UINT64_MAX : 0};
    }
    if (offset > of(buffer)->size) throw sdk::Failure(BP_INVALID, "copy: the offset lies outside the buffer");
    return {of(buffer)->data + offset, of(buffer)->size - offset};
}

Side source_of(const bp_copy& c) {
    if ((c.flags & BP_COPY_ZERO) == 0) return side_of(c.from_buffer, const_cast<void*>(c.from_host), c.from_offset);
    if (c.from_buffer != nullptr || c.from_host != nullptr)
        throw sdk::Failure(BP_INVALID, "copy: BP_COPY_ZERO takes no source, one is given");
    return {nullptr, UINT64_MAX};
}

// A copy as this version reads it.
bp_copy read_copy(const bp_copy* copy, const char* call, uint32_t flags) {
    const bp_copy c = sdk::read(copy);
    if ((c.flags & ~flags) != 0)
        throw sdk::Failure(BP_UNSUPPORTED, std::string(call) + ": flags " + std::to_string(c.flags) + " are not known here");
    return c;
}

// Copies of fewer bytes take no longer than to wake a thread for them.
constexpr uint64_t kBriefCopy = 65536;

backend::HostQueues::Order order_of(const bp_copy& c, const char* call, bool brief) {
    return {call, c.queue, c.wait, c.signal, nullptr, brief, c.peer_wait};
}

bp_code pack(bp_program* program, uint32_t slot, const bp_copy* copy, bp_error* error) {
    return sdk::guard(error, [&] {
        const bp_copy c = read_copy(copy, "pack", 0);
        if (c.from_device != nullptr || c.peer_wait.count != 0)
            throw sdk::Failure(BP_INVALID, "pack: it takes nothing of other devices");
        const Side from = source_of(c);
        const Side to = side_of(c.to_buffer, c.to_host, c.to_offset);
        Program& p = *of(program);
        p.check_pack(slot, from.room, to.room);
        if (c.queue >= Device::kQueues) throw sdk::Failure(BP_INVALID, "pack: the queue does not compute; give queue 0");
        const bool ours = c.to_buffer != nullptr && of(c.to_buffer)->own.data() != nullptr;
        p.device().queues.submit(order_of(c, "pack", false), [&p, slot, from, to, ours] {
            if (ours) prefer_large_pages(to.data, p.slot_bytes(slot));
            p.pack(slot, from.data, to.data);
        });
    });
}

bp_code run(bp_program* program, const bp_run* run, bp_error* error) {
    return sdk::guard(error, [&] { of(program)->run(sdk::read(run)); });
}

void program_close(bp_program* program) { delete of(program); }

bp_code buffer_create(bp_device* device, uint32_t heap, uint64_t size, bp_buffer** out, bp_error* error) {
    return sdk::guard(error, [&] {
        if (heap != 0) throw sdk::Failure(BP_INVALID, "buffer_create: the cpu has one heap, 0");
        if (size > PTRDIFF_MAX) throw sdk::Failure(BP_NO_DEVICE_MEMORY, "buffer_create: larger than the address space");
        of(device)->queues.expect_there("buffer_create");
        auto buffer = std::make_unique<Buffer>();
        const size_t page = large_page();
        buffer->own = HostMemory(of(device)->host, size, page != 0 && size >= 2 * page ? page : kAlignment);
        buffer->data = buffer->own.data();
        buffer->size = size;
        *out = reinterpret_cast<bp_buffer*>(buffer.release());
    });
}

bp_code buffer_import(bp_device*, void* memory, uint64_t size, bp_buffer** out, bp_error* error) {
    return sdk::guard(error, [&] {
        // Kernels use unaligned loads, so the alignment of an element is enough.
        if (reinterpret_cast<uintptr_t>(memory) % alignof(double) != 0)
            throw sdk::Failure(BP_UNSUPPORTED, "buffer_import: memory must be 8-byte aligned; copy it instead");
        auto buffer = std::make_unique<Buffer>();
        buffer->data = static_cast<std::byte*>(memory);
        buffer->size = size;
        *out = reinterpret_cast<bp_buffer*>(buffer.release());
    });
}

bp_code buffer_map(bp_buffer* buffer, uint64_t offset, uint64_t size, void** out, bp_error* error) {
    return sdk::guard(error, [&] {
        const Buffer& b = *of(buffer);
        if (offset > b.size || size > b.size - offset)
            throw sdk::Failure(BP_INVALID, "buffer_map: the range lies outside the buffer");
        *out = b.data + offset;
    });
}

bp_code buffer_unmap(bp_buffer*, bp_error*) { return BP_OK; }

void buffer_close(bp_buffer* buffer) { delete of(buffer); }

bp_code copy(bp_device* device, const bp_copy* copy, bp_error* error) {
    return sdk::guard(error, [&] {
        const bp_copy c = read_copy(copy, "copy", BP_COPY_ZERO);
        // Whose the source is makes no difference to memory of the host.
        if (c.from_device != nullptr && (c.from_device == device || c.from_buffer == nullptr || c.to_buffer == nullptr))
            throw sdk::Failure(BP_INVALID,
                               "copy: with from_device, it is from another device's buffer to one of this device");
        const Side from = source_of(c);
        const Side to = side_of(c.to_buffer, c.to_host, c.to_offset);
        if (c.bytes > from.room || c.bytes > to.room)
            throw sdk::Failure(BP_INVALID, "copy: " + std::to_string(c.bytes) + " bytes do not lie inside both sides");
        of(device)->queues.submit(order_of(c, "copy", c.bytes <= kBriefCopy),
                                  [from = from.data, to = to.data, bytes = c.bytes] {
                                      if (bytes == 0) return;
                                      if (from == nullptr) {
                                          std::memset(to, 0, bytes);
                                      } else {
                                          std::memmove(to, from, bytes);  // both sides may be one buffer
                                      }
                                  });
    });
}

bp_code fence_create(bp_device* device, bp_fence** out, bp_error* error) {
    return sdk::guard(error, [&] { *out = of(device)->queues.make_fence(); });
}

bp_code fence_read(bp_fence* fence, uint64_t* value, bp_error* error) {
    return sdk::guard(error, [&] { *value = backend::HostQueues::read_fence(fence); });
}

bp_code fence_wait(bp_fence* fence, uint64_t value, uint64_t timeout_ns, bp_error* error) {
    return sdk::guard(error, [&] { backend::HostQueues::wait_fence(fence, value, timeout_ns); });
}

void fence_close(bp_fence* fence) { backend::HostQueues::close_fence(fence); }

const bp_module_api table = {
    BP_SIZE(bp_module_api, fence_close),
    BP_ABI,
    module_open,
    module_close,
    extension,
    list,
    device_open,
    device_close,
    heaps,
    options,
    option_set,
    query,
    compile,
    program_info,
    pack,
    run,
    program_close,
    nullptr /* save */,
    nullptr /* check */,
    nullptr /* load */,
    buffer_create,
    buffer_import,
    buffer_map,
    buffer_unmap,
    buffer_close,
    copy,
    fence_create,
    fence_read,
    fence_wait,
    fence_close,
};

}  // namespace
}  // namespace backplane::cpu

extern "C" const bp_module_api* backplane_cpu(uint32_t host_abi);
const bp_module_api* backplane_cpu(uint32_t host_abi) {
    return host_abi >> 16 == BP_ABI_MAJOR ? &backplane::cpu::table : nullptr;
}
