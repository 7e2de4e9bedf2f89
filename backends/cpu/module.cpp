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

constexpr int64_t kMostThreads = 256;

struct Module {
    explicit Module(const bp_host* table)
        : host(table), level(choose_level(host.option("host.cpu-mask"))), name(processor_name()), units(usable_threads()) {}
    Host host;
    Level level;
    std::string name;
    uint32_t units;
};

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
        info.capabilities = BP_CAN_IMPORT_HOST | BP_CAN_MAP;
        info.memory_total = memory.total;
        info.memory_free = memory.available;
        info.memory_source = memory.source;
        info.dtypes = 1u << BP_F32 | 1u << BP_F16 | 1u << BP_BF16;
        info.units = m.units;
        info.features = m.level.name.c_str();
        sdk::write(BP_AT_OUT(bp_device_info, infos, 0), info);
    });
}

bp_code device_open(bp_module* module, uint64_t id, bp_device** out, bp_error* error) {
    return sdk::guard(error, [&] {
        if (id != 1) throw sdk::Failure(BP_NOT_FOUND, "device_open: the cpu backend has no device " + std::to_string(id));
        const Module& m = *of(module);
        uint32_t threads = m.units;
        const std::string wanted = m.host.option("cpu.threads");
        if (!wanted.empty()) {
            const bool number = wanted.size() < 4 && wanted.find_first_not_of("0123456789") == std::string::npos;
            const int value = number ? std::stoi(wanted) : 0;
            if (value < 1 || value > kMostThreads)
                throw sdk::Failure(BP_INVALID, "option cpu.threads is '" + wanted + "'; give a number from 1 to 256");
            threads = static_cast<uint32_t>(value);
        }
        *out = reinterpret_cast<bp_device*>(new Device(m.host, m.level, threads));
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
        option.integer = of(device)->pool.threads();
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

Side side_of(bp_buffer* buffer, void* host, uint64_t offset, uint64_t bytes) {
    if (buffer == nullptr) return {static_cast<std::byte*>(host), host != nullptr ? bytes : 0};
    if (offset > of(buffer)->size) throw sdk::Failure(BP_INVALID, "copy: the offset lies outside the buffer");
    return {of(buffer)->data + offset, of(buffer)->size - offset};
}

struct Sides {
    Side from, to;
    uint64_t bytes;
};

Sides sides_of(const bp_copy* copy) {
    const bp_copy c = sdk::read(copy);
    const uint64_t any = UINT64_MAX;
    const Side from = side_of(c.from_buffer, const_cast<void*>(c.from_host), c.from_offset, any);
    const Side to = side_of(c.to_buffer, c.to_host, c.to_offset, any);
    // A host pointer takes the offset too.
    Sides sides{from, to, c.bytes};
    if (c.from_buffer == nullptr && sides.from.data != nullptr) sides.from.data += c.from_offset;
    if (c.to_buffer == nullptr && sides.to.data != nullptr) sides.to.data += c.to_offset;
    if (c.bytes > sides.from.room || c.bytes > sides.to.room)
        throw sdk::Failure(BP_INVALID, "copy: " + std::to_string(c.bytes) + " bytes do not lie inside both sides");
    return sides;
}

bp_code pack(bp_program* program, uint32_t slot, const bp_copy* copy, bp_error* error) {
    return sdk::guard(error, [&] {
        bp_copy read = sdk::read(copy);
        read.bytes = 0;
        read.struct_size = sizeof read;
        const Sides sides = sides_of(&read);
        of(program)->pack(slot, sides.from.data, sides.from.room, sides.to.data, sides.to.room);
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
        auto buffer = std::make_unique<Buffer>();
        buffer->own = HostMemory(of(device)->host, size);
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

bp_code copy(bp_device*, const bp_copy* copy, bp_error* error) {
    return sdk::guard(error, [&] {
        const Sides sides = sides_of(copy);
        if (sides.bytes != 0) std::memmove(sides.to.data, sides.from.data, sides.bytes);
    });
}

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
    copy,  // No fences: run and copy return when the work is done.
    nullptr,
    nullptr,
    nullptr,
    nullptr,
};

}  // namespace
}  // namespace backplane::cpu

extern "C" const bp_module_api* backplane_cpu(uint32_t host_abi);
const bp_module_api* backplane_cpu(uint32_t host_abi) {
    return host_abi >> 16 == BP_ABI_MAJOR ? &backplane::cpu::table : nullptr;
}
