// The ABI line: every function of the table, each a few lines over the classes behind it.
#include <algorithm>
#include <mutex>

#include "extensions.hpp"
#include "program.hpp"

namespace backplane::vulkan {

namespace {

struct Module {
    explicit Module(const bp_host* table) : host(table) {}

    // Opened when first asked for: loading the module touches no driver.
    const Instance& instance() {
        const std::lock_guard lock(mutex);
        if (opened == nullptr) opened = std::make_unique<Instance>();
        return *opened;
    }

    Host host;
    std::mutex mutex;
    std::unique_ptr<Instance> opened;
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

bp_device_info info_of(const Instance& instance, const PhysicalDevice& d) {
    bp_device_info info{};
    info.kind = d.kind;
    info.id = d.id;
    info.name = d.name.c_str();
    info.driver = d.driver.c_str();
    info.identity_known = BP_ID_UUID | (d.pci_known ? uint32_t{BP_ID_PCI} : 0U) | (d.luid_known ? uint32_t{BP_ID_LUID} : 0U);
    info.vendor = d.properties.vendorID < 0x10000 ? d.properties.vendorID : 0;
    std::copy_n(d.uuid, 16, info.uuid);
    std::copy_n(d.luid, 8, info.luid);
    info.pci_domain = d.pci[0], info.pci_bus = d.pci[1], info.pci_device = d.pci[2], info.pci_function = d.pci[3];
    info.fingerprint[0] = d.fingerprint[0], info.fingerprint[1] = d.fingerprint[1];
    info.capabilities = (d.can.import ? uint32_t{BP_CAN_IMPORT_HOST} : 0U) | (d.can.unified ? uint32_t{BP_CAN_MAP} : 0U);
    info.memory_total = d.memory_total();
    info.memory_free = instance.memory_free(d);
    info.max_buffer = d.can.most_allocation;
    info.dtypes = 1U << BP_F32 | 1U << BP_I32;
    if (d.can.halves) info.dtypes |= 1U << BP_F16;
    if (d.can.bytes) info.dtypes |= 1U << BP_BF16 | 1U << BP_Q8_0 | 1U << BP_Q4_0;
    if (d.can.longs) info.dtypes |= 1U << BP_I64;
    info.features = d.features.c_str();
    info.warning = d.warning.empty() ? nullptr : d.warning.c_str();
    return info;
}

bp_code list(bp_module* module, const bp_array* infos, uint32_t* count, bp_error* error) {
    return sdk::guard(error, [&] {
        const Instance& instance = of(module)->instance();
        *count = static_cast<uint32_t>(instance.devices().size());
        if (*count == 0) sdk::fail(error, BP_OK, instance.why());
        if (infos == nullptr) return;
        for (uint32_t i = 0; i < std::min(infos->count, *count); ++i)
            sdk::write(BP_AT_OUT(bp_device_info, infos, i), info_of(instance, instance.devices()[i]));
    });
}

bp_code device_open(bp_module* module, uint64_t id, bp_device** out, bp_error* error) {
    return sdk::guard(error, [&] {
        const Instance& instance = of(module)->instance();
        for (const PhysicalDevice& d : instance.devices())
            if (d.id == id) {
                *out = reinterpret_cast<bp_device*>(new Device(of(module)->host, instance, d));
                return;
            }
        throw sdk::Failure(BP_NOT_FOUND, "device_open: there is no Vulkan device " + std::to_string(id) +
                                             (instance.why().empty() ? "; list the devices again" : "; " + instance.why()));
    });
}

void device_close(bp_device* device) { delete of(device); }

bp_code heaps(bp_device* device, const bp_array* heaps, uint32_t* count, bp_error* error) {
    return sdk::guard(error, [&] {
        *count = 1;
        if (heaps == nullptr || heaps->count == 0) return;
        const Device& d = *of(device);
        bp_heap heap{};
        const uint64_t free = d.instance.memory_free(d.physical);
        heap.flags = (d.can().unified ? uint32_t{BP_MEM_UNIFIED} | BP_MEM_HOST_VISIBLE : 0U) |
                     (free != 0 ? uint32_t{BP_MEM_BUDGET} : 0U);
        heap.total = d.physical.memory_total();
        heap.used_by_us = d.memory->used();
        heap.available = free != 0 ? free : heap.total - std::min(heap.total, heap.used_by_us);
        heap.largest_block = std::min(heap.available, d.can().most_allocation);
        heap.alignment = d.can().storage_alignment;
        sdk::write(BP_AT_OUT(bp_heap, heaps, 0), heap);
    });
}

bp_code query(bp_device* device, const bp_graph* graph, const bp_array* answers, bp_error* error) {
    return sdk::guard(error, [&] {
        const sdk::GraphView view(graph);
        view.validate();
        const auto answer = [&](uint32_t i, uint32_t reason) {
            if (i >= answers->count) return;
            bp_answer a{};
            a.code = reason == BP_WHY_NONE ? BP_OK : BP_UNSUPPORTED;
            a.reason = reason;
            sdk::write(BP_AT_OUT(bp_answer, answers, i), a);
        };
        for (uint32_t i = 0; i < view.tensors(); ++i) {
            const bp_tensor t = view.tensor(i);
            if (std::any_of(t.dim, t.dim + t.rank, [](int64_t d) { return d < 0; })) {
                for (uint32_t n = 0; n < view.nodes(); ++n) answer(n, BP_WHY_SYMBOLIC);
                return;
            }
        }
        const Plan plan = import_graph(graph);
        for (uint32_t i = 0; i < plan.nodes.size(); ++i)
            answer(i, check_node(plan, plan.nodes[i], of(device)->can()).reason);
    });
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

bp_code run(bp_program* program, const bp_run* run, bp_error* error) {
    return sdk::guard(error, [&] { of(program)->run(sdk::read(run)); });
}

void program_close(bp_program* program) { delete of(program); }

bp_code buffer_create(bp_device* device, uint32_t heap, uint64_t size, bp_buffer** out, bp_error* error) {
    return sdk::guard(error, [&] {
        if (heap != 0) throw sdk::Failure(BP_INVALID, "buffer_create: a Vulkan device has one heap, 0");
        of(device)->check_lost();
        auto buffer = std::make_unique<Buffer>(of(device)->memory->create(size));
        buffer->device = of(device);
        *out = reinterpret_cast<bp_buffer*>(buffer.release());
    });
}

bp_code buffer_import(bp_device* device, void* memory, uint64_t size, bp_buffer** out, bp_error* error) {
    return sdk::guard(error, [&] {
        of(device)->check_lost();
        auto buffer = std::make_unique<Buffer>(of(device)->memory->import(memory, size));
        buffer->device = of(device);
        *out = reinterpret_cast<bp_buffer*>(buffer.release());
    });
}

bp_code buffer_map(bp_buffer* buffer, uint64_t offset, uint64_t size, void** out, bp_error* error) {
    return sdk::guard(error, [&] {
        const Buffer& b = *of(buffer);
        if (offset > b.size || size > b.size - offset)
            throw sdk::Failure(BP_INVALID, "buffer_map: the range lies outside the buffer");
        if (b.size != 0 && b.mapped() == nullptr)
            throw sdk::Failure(BP_UNSUPPORTED, "buffer_map: the memory of " + b.device->physical.name +
                                                   " is not visible to the host; copy instead");
        *out = b.size != 0 ? b.mapped() + offset : nullptr;
    });
}

bp_code buffer_unmap(bp_buffer*, bp_error*) { return BP_OK; }

void buffer_close(bp_buffer* buffer) {
    const std::unique_ptr<Buffer> mine(of(buffer));
    if (mine != nullptr) mine->device->memory->close(*mine);
}

void check_inside(const Buffer* buffer, uint64_t offset, uint64_t bytes) {
    if (buffer != nullptr && (offset > buffer->size || bytes > buffer->size - offset))
        throw sdk::Failure(BP_INVALID, "copy: " + std::to_string(bytes) + " bytes at " + std::to_string(offset) +
                                           " lie outside the buffer of " + std::to_string(buffer->size));
}

bp_code copy(bp_device* device, const bp_copy* copy, bp_error* error) {
    return sdk::guard(error, [&] {
        const bp_copy c = sdk::read(copy);
        const Buffer* from = of(c.from_buffer);
        const Buffer* to = of(c.to_buffer);
        if ((from != nullptr) == (c.from_host != nullptr && c.bytes != 0) ||
            (to != nullptr) == (c.to_host != nullptr && c.bytes != 0)) {
            if (c.bytes != 0) throw sdk::Failure(BP_INVALID, "copy: each side must be one of a buffer and host memory");
        }
        if (c.wait.count != 0 || c.signal.fence != nullptr)
            throw sdk::Failure(BP_INVALID, "copy: this backend has no fences to wait for or to signal");
        check_inside(from, c.from_offset, c.bytes);
        check_inside(to, c.to_offset, c.bytes);
        if (c.bytes == 0) return;
        Device& d = *of(device);
        d.check_lost();
        const auto* host_from = static_cast<const std::byte*>(c.from_host) + (from == nullptr ? c.from_offset : 0);
        auto* host_to = static_cast<std::byte*>(c.to_host) + (to == nullptr ? c.to_offset : 0);
        if (from != nullptr && to != nullptr) {
            d.copy(*from, c.from_offset, *to, c.to_offset, c.bytes);
        } else if (to != nullptr) {
            d.upload(*to, c.to_offset, host_from, c.bytes);
        } else if (from != nullptr) {
            d.download(*from, c.from_offset, host_to, c.bytes);
        } else {
            std::copy_n(host_from, c.bytes, host_to);
        }
    });
}

constexpr bp_module_api make_table() {
    bp_module_api table{};
    table.struct_size = BP_SIZE(bp_module_api, fence_close);
    table.abi = BP_ABI;
    table.open = module_open;
    table.close = module_close;
    table.extension = extension;
    table.list = list;
    table.device_open = device_open;
    table.device_close = device_close;
    table.heaps = heaps;
    table.query = query;
    table.compile = compile;
    table.program_info = program_info;
    table.run = run;
    table.program_close = program_close;
    table.buffer_create = buffer_create;
    table.buffer_import = buffer_import;
    table.buffer_map = buffer_map;
    table.buffer_unmap = buffer_unmap;
    table.buffer_close = buffer_close;
    table.copy = copy;  // No fences: run and copy return when the work is done.
    return table;
}

constinit const bp_module_api kTable = make_table();

}  // namespace
}  // namespace backplane::vulkan

extern "C" const bp_module_api* backplane_vulkan(uint32_t host_abi);
const bp_module_api* backplane_vulkan(uint32_t host_abi) {
    return host_abi >> 16 == BP_ABI_MAJOR ? &backplane::vulkan::kTable : nullptr;
}
