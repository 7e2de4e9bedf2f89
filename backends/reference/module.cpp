// The ABI line: the function table. Each entry reads what the host hands over, checks it, and calls a class of this folder.
//
// How to read and write what crosses (rules R2 and R4 of module.h): sdk::read() copies a struct as far as both sides
// know it and zeroes the rest; sdk::write() fills the host's struct no further than the host knows it; BP_HAS asks
// whether a function of the host is there.
#include <memory>
#include <string>

#include "common/host.hpp"
#include "handles.hpp"
#include "memory.hpp"
#include "program.hpp"

namespace backplane::reference {

namespace {

constexpr uint64_t kDevice = 1;  // ids need to be stable only while the module is open

Module* of(bp_module* m) { return reinterpret_cast<Module*>(m); }
Device* of(bp_device* d) { return reinterpret_cast<Device*>(d); }
Program* of(bp_program* p) { return reinterpret_cast<Program*>(p); }
Buffer* of(bp_buffer* b) { return reinterpret_cast<Buffer*>(b); }

// ---- module and devices ----

bp_code open(const bp_host* host, bp_module** out, bp_error* error) {
    return guard(error, [&] {
        need(out, "place for the module") = nullptr;
        static_cast<void>(need(host, "host table"));
        *out = reinterpret_cast<bp_module*>(new Module{host});
    });
}

void close(bp_module* module) { delete of(module); }

const void* extension(bp_module*, const char*) { return nullptr; }

bp_code list(bp_module*, const bp_array* infos, uint32_t* count, bp_error* error) {
    return guard(error, [&] {
        need(count, "place for the count") = 1;
        if (infos == nullptr || infos->first == nullptr || infos->count == 0) return;  // only the count is asked for
        bp_device_info info{};
        info.kind = BP_KIND_SOFTWARE;
        info.id = kDevice;
        info.name = "float64 reference";
        // Yours: driver, PCI address or UUID, memory, so that the host can tell which chip this is and what fits.
        info.capabilities = BP_CAN_IMPORT_HOST | BP_CAN_MAP | BP_CAN_ASYNC | BP_CAN_SYMBOLS;
        info.queues = Device::kQueues;
        info.copy_queues = Device::kCopyQueues;
        for (uint32_t dtype = BP_F32; dtype <= BP_Q8_K; ++dtype) info.dtypes |= uint64_t{1} << dtype;
        info.units = 1;
        info.warning = "computes in float64 to check other backends, very slowly";
        sdk::write(BP_AT_OUT(bp_device_info, infos, 0), info);
    });
}

bp_code device_open(bp_module* module, uint64_t id, bp_device** out, bp_error* error) {
    return guard(error, [&] {
        need(out, "place for the device") = nullptr;
        if (id != kDevice)
            throw sdk::Failure(BP_NOT_FOUND,
                               "cannot open device " + std::to_string(id) + ": the reference has device 1 only");
        const Module& m = need(of(module), "module");
        const uint32_t lose_after = backend::Host(m.host).lose_after("reference");
        *out = reinterpret_cast<bp_device*>(new Device(m, lose_after));
    });
}

void device_close(bp_device* device) { delete of(device); }

bp_code heaps(bp_device* device, const bp_array* heaps, uint32_t* count, bp_error* error) {
    return guard(error, [&] {
        need(count, "place for the count") = 1;
        if (heaps == nullptr || heaps->first == nullptr || heaps->count == 0) return;
        bp_heap heap{};
        // Neither EXACT nor BUDGET: how much the machine has is not this module's to know.
        heap.flags = BP_MEM_UNIFIED | BP_MEM_HOST_VISIBLE;
        heap.used_by_us = need(of(device), "device").bytes_used;
        heap.alignment = alignof(std::max_align_t);
        sdk::write(BP_AT_OUT(bp_heap, heaps, 0), heap);
    });
}

bp_code options(bp_device*, const bp_array*, uint32_t* count, bp_error* error) {
    return guard(error, [&] { need(count, "place for the count") = 0; });
}

bp_code option_set(bp_device*, const bp_option* option, bp_error* error) {
    return guard(error, [&] {
        const bp_option o = sdk::read(&need(option, "option"));
        throw sdk::Failure(BP_NOT_FOUND, std::string("the reference has no option '") + (o.name == nullptr ? "" : o.name) +
                                             "', it has none");
    });
}

// ---- programs ----

bp_code query_graph(bp_device*, const bp_graph* graph, const bp_array* answers, bp_error* error) {
    return guard(error, [&] { query(need(graph, "graph"), need(answers, "room for answers")); });
}

bp_code compile(bp_device* device, const bp_graph* graph, const bp_compile* how, bp_program** out, bp_error* error) {
    return guard(error, [&] {
        need(out, "place for the program") = nullptr;
        need(of(device), "device").queues.expect_there("compile");
        const bp_compile settings = how == nullptr ? bp_compile{} : sdk::read(how);
        *out = reinterpret_cast<bp_program*>(new Program(*of(device), need(graph, "graph"), settings));
    });
}

bp_code program_info(bp_program* program, bp_program_info* info, bp_error* error) {
    return guard(error, [&] { sdk::write(&need(info, "program info"), need(of(program), "program").info()); });
}

bp_code run(bp_program* program, const bp_run* request, bp_error* error) {
    return guard(error, [&] { need(of(program), "program").run(sdk::read(&need(request, "run"))); });
}

void program_close(bp_program* program) { delete of(program); }

// ---- memory ----

bp_code buffer_create(bp_device* device, uint32_t heap, uint64_t size, bp_buffer** out, bp_error* error) {
    return guard(error, [&] {
        need(out, "place for the buffer") = nullptr;
        if (heap != 0)
            throw sdk::Failure(BP_INVALID,
                               "cannot create a buffer on heap " + std::to_string(heap) + ": there is heap 0 only");
        need(of(device), "device").queues.expect_there("buffer_create");
        *out = reinterpret_cast<bp_buffer*>(create_buffer(*of(device), size).release());
    });
}

bp_code buffer_import(bp_device*, void* memory, uint64_t size, bp_buffer** out, bp_error* error) {
    return guard(error, [&] {
        need(out, "place for the buffer") = nullptr;
        *out = reinterpret_cast<bp_buffer*>(import_buffer(memory, size).release());
    });
}

bp_code buffer_map(bp_buffer* buffer, uint64_t offset, uint64_t size, void** out, bp_error* error) {
    return guard(error, [&] {
        need(out, "place for the pointer") = nullptr;
        const Buffer& b = need(of(buffer), "buffer");
        if (!b.contains(offset, size))
            throw sdk::Failure(BP_INVALID, "cannot map " + std::to_string(size) + " bytes at " + std::to_string(offset) +
                                               " of a buffer of " + std::to_string(b.size));
        *out = b.data + offset;
    });
}

bp_code buffer_unmap(bp_buffer* buffer, bp_error* error) {
    return guard(error, [&] { static_cast<void>(need(of(buffer), "buffer")); });
}

void buffer_close(bp_buffer* buffer) { close_buffer(std::unique_ptr<Buffer>(of(buffer))); }

bp_code copy_bytes(bp_device* device, const bp_copy* request, bp_error* error) {
    return guard(error, [&] { copy(need(of(device), "device"), sdk::read(&need(request, "copy"))); });
}

// ---- fences ----

bp_code fence_create(bp_device* device, bp_fence** out, bp_error* error) {
    return guard(error, [&] {
        need(out, "place for the fence") = nullptr;
        *out = need(of(device), "device").queues.make_fence();
    });
}

bp_code fence_read(bp_fence* fence, uint64_t* value, bp_error* error) {
    return guard(error,
                 [&] { need(value, "place for the value") = backend::HostQueues::read_fence(&need(fence, "fence")); });
}

bp_code fence_wait(bp_fence* fence, uint64_t value, uint64_t timeout_ns, bp_error* error) {
    return guard(error, [&] { backend::HostQueues::wait_fence(&need(fence, "fence"), value, timeout_ns); });
}

void fence_close(bp_fence* fence) { backend::HostQueues::close_fence(fence); }

// By name, so that a function cannot end up in the place of another. What is not named is null, which means absent, and
// every absent function has a defined answer: no pack (slots are plain), no save, check and load (nothing to store), no
// fences (run and copy return when done).
constexpr bp_module_api make_table() {
    bp_module_api table{};
    table.struct_size = BP_SIZE(bp_module_api, fence_close);
    table.abi = BP_ABI;
    table.open = open;
    table.close = close;
    table.extension = extension;
    table.list = list;
    table.device_open = device_open;
    table.device_close = device_close;
    table.heaps = heaps;
    table.options = options;
    table.option_set = option_set;
    table.query = query_graph;
    table.compile = compile;
    table.program_info = program_info;
    table.run = run;
    table.program_close = program_close;
    table.buffer_create = buffer_create;
    table.buffer_import = buffer_import;
    table.buffer_map = buffer_map;
    table.buffer_unmap = buffer_unmap;
    table.buffer_close = buffer_close;
    table.copy = copy_bytes;
    table.fence_create = fence_create;
    table.fence_read = fence_read;
    table.fence_wait = fence_wait;
    table.fence_close = fence_close;
    return table;
}

constinit const bp_module_api kTable = make_table();

}  // namespace
}  // namespace backplane::reference

// The entry: pure, callable at any time from any thread. A host of another major gets nothing.
extern "C" const bp_module_api* backplane_reference(uint32_t host_abi);
const bp_module_api* backplane_reference(uint32_t host_abi) {
    return host_abi >> 16 == BP_ABI_MAJOR ? &backplane::reference::kTable : nullptr;
}
