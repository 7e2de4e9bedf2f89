// The ABI line of a backend of an Api: every function of the table, each a few lines over the classes behind it.
#pragma once

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>

#include "common/gpu/peak.hpp"
#include "common/gpu/program.hpp"
#include "common/gpu/sums.hpp"

namespace backplane::gpu {

template <Api A>
class ModuleTable {
public:
    static constexpr bp_module_api make() {
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
        table.query = query;
        table.compile = compile;
        table.program_info = program_info;
        table.pack = pack;
        table.run = run;
        table.program_close = program_close;
        table.buffer_create = buffer_create;
        table.buffer_import = buffer_import;
        table.buffer_map = buffer_map;
        table.buffer_unmap = buffer_unmap;
        table.buffer_close = buffer_close;
        table.copy = copy;
        table.fence_create = fence_create;
        table.fence_read = fence_read;
        table.fence_wait = fence_wait;
        table.fence_close = fence_close;
        return table;
    }

    // What the module's one function answers.
    static const bp_module_api* entry(uint32_t host_abi) {
        static constinit const bp_module_api table = make();
        return host_abi >> 16 == BP_ABI_MAJOR ? &table : nullptr;
    }

private:
    using Instance = typename A::Instance;
    using Device = gpu::Device<A>;
    using Program = gpu::Program<A>;
    using Buffer = gpu::Buffer<A>;
    using Fence = gpu::Fence<A>;

    struct Module {
        explicit Module(const bp_host* table) : host(table) {}

        // Opened when first asked for: loading the module touches no driver.
        const Instance& instance() {
            // Drivers that are started by two threads at once have been seen to crash (PoCL 3.1).
            static std::mutex one_at_a_time;
            const std::lock_guard lock(one_at_a_time);
            if (opened == nullptr) opened = std::make_unique<Instance>();
            return *opened;
        }

        backend::Host host;
        std::unique_ptr<Instance> opened;
    };

    // What the host holds: a buffer, and where it has it mapped.
    struct Held : Buffer {
        std::byte* map(uint64_t at, uint64_t bytes) {
            std::byte* seen = A::map(*this->device->api, this->range(at, bytes));
            const std::lock_guard lock(mutex);
            if (seen != nullptr) mapped.emplace_back(this->range(at, bytes), seen);
            return seen;
        }
        void unmap() {
            const std::lock_guard lock(mutex);
            for (const auto& [where, seen] : std::exchange(mapped, {})) A::unmap(*this->device->api, where, seen);
        }
        std::mutex mutex;
        std::vector<std::pair<Range<typename A::Block>, std::byte*>> mapped;
    };

    static Module* of(bp_module* m) { return reinterpret_cast<Module*>(m); }
    static Device* of(bp_device* d) { return reinterpret_cast<Device*>(d); }
    static Program* of(bp_program* p) { return reinterpret_cast<Program*>(p); }
    static Held* of(bp_buffer* b) { return static_cast<Held*>(reinterpret_cast<Buffer*>(b)); }
    static Fence* of(bp_fence* f) { return reinterpret_cast<Fence*>(f); }

    // What the driver says of a device in one call holds for all that follow.
    template <typename Body>
    static bp_code on(Device& device, bp_error* error, Body&& body) {
        const bp_code code = sdk::guard(error, body);
        if (code == BP_DEVICE_LOST) device.lose();
        return code;
    }

    static bp_code open(const bp_host* host, bp_module** out, bp_error* error) {
        return sdk::guard(error, [&] { *out = reinterpret_cast<bp_module*>(new Module(host)); });
    }

    static void close(bp_module* module) { delete of(module); }

    static const void* extension(bp_module*, const char* id) {
        const void* peak = PeakTable<A>::find(id);
        return peak != nullptr ? peak : SumsTable<A>::find(id);
    }

    static bp_device_info info_of(const Instance& instance, const typename A::Physical& d) {
        bp_device_info info{};
        info.kind = d.kind;
        info.id = d.id;
        info.name = d.name.c_str();
        info.driver = d.driver.c_str();
        info.identity_known = (d.uuid_known ? uint32_t{BP_ID_UUID} : 0U) | (d.pci_known ? uint32_t{BP_ID_PCI} : 0U) |
                              (d.luid_known ? uint32_t{BP_ID_LUID} : 0U);
        info.vendor = d.vendor;
        std::copy_n(d.uuid, 16, info.uuid);
        std::copy_n(d.luid, 8, info.luid);
        info.pci_domain = d.pci[0], info.pci_bus = d.pci[1], info.pci_device = d.pci[2], info.pci_function = d.pci[3];
        info.fingerprint[0] = d.fingerprint[0], info.fingerprint[1] = d.fingerprint[1];
        info.capabilities = BP_CAN_ASYNC | (d.can.import ? uint32_t{BP_CAN_IMPORT_HOST} : 0U) |
                            (d.can.unified ? uint32_t{BP_CAN_MAP} : 0U) | (d.peers ? uint32_t{BP_CAN_PEER} : 0U);
        info.memory_total = d.memory_total;
        info.memory_free = instance.free_bytes(d);
        info.memory_source = d.memory_source.c_str();
        info.max_buffer = d.can.most_allocation;
        info.dtypes = 1U << BP_F32 | 1U << BP_I32;
        if (d.can.halves) info.dtypes |= 1U << BP_F16;
        if (d.can.bytes) info.dtypes |= 1U << BP_BF16 | backplane::ops::kBlocks;
        if (d.can.longs) info.dtypes |= 1U << BP_I64;
        info.units = d.units;
        info.features = d.features.c_str();
        info.warning = d.warning.empty() ? nullptr : d.warning.c_str();
        info.queues = d.queues;
        info.copy_queues = d.copy_queues;
        return info;
    }

    static bp_code list(bp_module* module, const bp_array* infos, uint32_t* count, bp_error* error) {
        return sdk::guard(error, [&] {
            const Instance& instance = of(module)->instance();
            *count = static_cast<uint32_t>(instance.devices().size());
            if (!instance.why().empty()) sdk::fail(error, BP_OK, instance.why());
            if (infos == nullptr) return;
            for (uint32_t i = 0; i < std::min(infos->count, *count); ++i)
                sdk::write(BP_AT_OUT(bp_device_info, infos, i), info_of(instance, instance.devices()[i]));
        });
    }

    static bp_code device_open(bp_module* module, uint64_t id, bp_device** out, bp_error* error) {
        return sdk::guard(error, [&] {
            const Instance& instance = of(module)->instance();
            for (const auto& d : instance.devices())
                if (d.id == id) {
                    *out = reinterpret_cast<bp_device*>(new Device(of(module)->host, instance, d));
                    return;
                }
            throw sdk::Failure(BP_NOT_FOUND,
                               std::string("device_open: there is no ") + A::kName + " device " + std::to_string(id) +
                                   (instance.devices().empty() ? "; " + instance.why() : "; list the devices again"));
        });
    }

    static void device_close(bp_device* device) { delete of(device); }

    // Heap 0 is the device's own memory, heap 1 pinned memory of the host.
    static bp_code heaps(bp_device* device, const bp_array* heaps, uint32_t* count, bp_error* error) {
        return sdk::guard(error, [&] {
            *count = 2;
            const Device& d = *of(device);
            bp_heap heap{};
            const uint64_t free = d.instance.free_bytes(d.physical);
            heap.flags = (d.can().unified ? uint32_t{BP_MEM_UNIFIED} | BP_MEM_HOST_VISIBLE : 0U) |
                         (free != 0 ? uint32_t{BP_MEM_BUDGET} : 0U);
            heap.total = d.physical.memory_total;
            heap.used_by_us = d.memory->used();
            heap.available = free != 0 ? free : heap.total - std::min(heap.total, heap.used_by_us);
            heap.largest_block = std::min(heap.available, d.can().most_allocation);
            heap.alignment = d.can().storage_alignment;
            if (heaps != nullptr && heaps->count > 0) sdk::write(BP_AT_OUT(bp_heap, heaps, 0), heap);
            bp_heap pinned{};
            pinned.flags = BP_MEM_PINNED | BP_MEM_HOST_VISIBLE;
            pinned.used_by_us = d.memory->pinned();
            pinned.largest_block = d.can().most_allocation;
            pinned.alignment = d.can().storage_alignment;
            if (heaps != nullptr && heaps->count > 1) sdk::write(BP_AT_OUT(bp_heap, heaps, 1), pinned);
        });
    }

    static bp_code query(bp_device* device, const bp_graph* graph, const bp_array* answers, bp_error* error) {
        return sdk::guard(error, [&] { answer_query(graph, answers, of(device)->can()); });
    }

    static bp_code compile(bp_device* device, const bp_graph* graph, const bp_compile* how, bp_program** out,
                           bp_error* error) {
        return on(*of(device), error, [&] {
            const bp_compile h = how != nullptr ? sdk::read(how) : bp_compile{};
            *out = reinterpret_cast<bp_program*>(new Program(*of(device), graph, h));
        });
    }

    static bp_code program_info(bp_program* program, bp_program_info* info, bp_error* error) {
        return sdk::guard(error, [&] { sdk::write(info, of(program)->info()); });
    }

    static bp_code pack(bp_program* program, uint32_t slot, const bp_copy* copy, bp_error* error) {
        return on(of(program)->device(), error, [&] { of(program)->pack(slot, sdk::read(copy)); });
    }

    static bp_code run(bp_program* program, const bp_run* run, bp_error* error) {
        return on(of(program)->device(), error, [&] { of(program)->run(sdk::read(run)); });
    }

    static void program_close(bp_program* program) { delete of(program); }

    static void hand_out(Device& device, const Buffer& made, bp_buffer** out) {
        auto buffer = std::make_unique<Held>();
        static_cast<Buffer&>(*buffer) = made;
        buffer->device = &device;
        *out = reinterpret_cast<bp_buffer*>(static_cast<Buffer*>(buffer.release()));
    }

    static bp_code buffer_create(bp_device* device, uint32_t heap, uint64_t size, bp_buffer** out, bp_error* error) {
        return on(*of(device), error, [&] {
            if (heap > 1)
                throw sdk::Failure(BP_INVALID, std::string("buffer_create: devices of ") + A::kName +
                                                   " have two heaps: 0, their own, and 1, pinned memory of the host");
            of(device)->check_lost();
            hand_out(*of(device), of(device)->memory->create(size, heap == 0 ? Placement::device : Placement::pinned), out);
        });
    }

    static bp_code buffer_import(bp_device* device, void* memory, uint64_t size, bp_buffer** out, bp_error* error) {
        return on(*of(device), error, [&] {
            of(device)->check_lost();
            hand_out(*of(device), of(device)->memory->import(memory, size), out);
        });
    }

    static bp_code buffer_map(bp_buffer* buffer, uint64_t offset, uint64_t size, void** out, bp_error* error) {
        return on(*of(buffer)->device, error, [&] {
            Held& b = *of(buffer);
            if (offset > b.size || size > b.size - offset)
                throw sdk::Failure(BP_INVALID, "buffer_map: the range lies outside the buffer");
            *out = nullptr;
            if (size == 0) return;
            if (Device::seen_by_host(b)) *out = b.map(offset, size);
            if (*out == nullptr)
                throw sdk::Failure(BP_UNSUPPORTED, "buffer_map: the memory of " + b.device->physical.name +
                                                       " is not visible to the host; copy instead");
        });
    }

    static bp_code buffer_unmap(bp_buffer* buffer, bp_error* error) {
        return on(*of(buffer)->device, error, [&] { of(buffer)->unmap(); });
    }

    static void buffer_close(bp_buffer* buffer) {
        const std::unique_ptr<Held> mine(of(buffer));
        if (mine != nullptr) mine->device->memory->close(*mine);
    }

    static bp_code copy(bp_device* device, const bp_copy* copy, bp_error* error) {
        return on(*of(device), error, [&] { of(device)->copy(sdk::read(copy)); });
    }

    static bp_code fence_create(bp_device* device, bp_fence** out, bp_error* error) {
        return on(*of(device), error, [&] {
            of(device)->check_lost();
            *out = reinterpret_cast<bp_fence*>(new Fence(*of(device)));
        });
    }

    static bp_code fence_read(bp_fence* fence, uint64_t* value, bp_error* error) {
        Device& device = *of(fence)->device();
        return on(device, error, [&] {
            device.check_lost();
            *value = of(fence)->read();
        });
    }

    static std::string words_of_sums(Device& device) {
        if constexpr (kHasSums<A>) return A::broken_words(*device.api);
        return {};
    }
    static bp_code fence_wait(bp_fence* fence, uint64_t value, uint64_t timeout_ns, bp_error* error) {
        Device& device = *of(fence)->device();
        bp_code outcome = BP_OK;
        const bp_code code = on(device, error, [&] { outcome = device.wait(*of(fence), value, timeout_ns); });
        if (code != BP_OK || outcome == BP_OK) return code;
        const std::string point = "wait for the point " + std::to_string(value) + " on " + device.physical.name + ": ";
        return sdk::fail(error, outcome,
                         point + (outcome == BP_TIMEOUT       ? "it is not reached yet; wait longer"
                                  : outcome == BP_CANCELLED   ? "its run was cancelled"
                                  : outcome == BP_UNSUPPORTED ? words_of_sums(device)
                                                              : "the device was lost; close it and open it again"));
    }

    static void fence_close(bp_fence* fence) { delete of(fence); }
};

}  // namespace backplane::gpu
