// The ABI line of a backend whose devices look alike from here: every function of the table, each a few lines over the classes behind it.
//
// `B` names them: B::Instance (devices(), why()), B::Device, B::Program, B::Buffer, B::kName, B::info_of(instance, physical device),
// B::extension(id), as backends/vulkan/module.cpp shows. No fences: run and copy return when the work is done.
#pragma once

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>

#include "common/gpu/compile.hpp"
#include "common/host.hpp"

namespace backplane::gpu {

template <typename B>
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
        table.run = run;
        table.program_close = program_close;
        table.buffer_create = buffer_create;
        table.buffer_import = buffer_import;
        table.buffer_map = buffer_map;
        table.buffer_unmap = buffer_unmap;
        table.buffer_close = buffer_close;
        table.copy = copy;
        return table;
    }

private:
    using Instance = typename B::Instance;
    using Device = typename B::Device;
    using Program = typename B::Program;
    using Buffer = typename B::Buffer;

    struct Module {
        explicit Module(const bp_host* table) : host(table) {}

        // Opened when first asked for: loading the module touches no driver.
        const Instance& instance() {
            const std::lock_guard lock(mutex);
            if (opened == nullptr) opened = std::make_unique<Instance>();
            return *opened;
        }

        backend::Host host;
        std::mutex mutex;
        std::unique_ptr<Instance> opened;
    };

    static Module* of(bp_module* m) { return reinterpret_cast<Module*>(m); }
    static Device* of(bp_device* d) { return reinterpret_cast<Device*>(d); }
    static Program* of(bp_program* p) { return reinterpret_cast<Program*>(p); }
    static Buffer* of(bp_buffer* b) { return reinterpret_cast<Buffer*>(b); }

    static bp_code open(const bp_host* host, bp_module** out, bp_error* error) {
        return sdk::guard(error, [&] { *out = reinterpret_cast<bp_module*>(new Module(host)); });
    }

    static void close(bp_module* module) { delete of(module); }

    static const void* extension(bp_module*, const char* id) { return B::extension(id); }

    static bp_code list(bp_module* module, const bp_array* infos, uint32_t* count, bp_error* error) {
        return sdk::guard(error, [&] {
            const Instance& instance = of(module)->instance();
            *count = static_cast<uint32_t>(instance.devices().size());
            if (!instance.why().empty()) sdk::fail(error, BP_OK, instance.why());
            if (infos == nullptr) return;
            for (uint32_t i = 0; i < std::min(infos->count, *count); ++i)
                sdk::write(BP_AT_OUT(bp_device_info, infos, i), B::info_of(instance, instance.devices()[i]));
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
                               std::string("device_open: there is no ") + B::kName + " device " + std::to_string(id) +
                                   (instance.devices().empty() ? "; " + instance.why() : "; list the devices again"));
        });
    }

    static void device_close(bp_device* device) { delete of(device); }

    static bp_code heaps(bp_device* device, const bp_array* heaps, uint32_t* count, bp_error* error) {
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

    static bp_code query(bp_device* device, const bp_graph* graph, const bp_array* answers, bp_error* error) {
        return sdk::guard(error, [&] { answer_query(graph, answers, of(device)->can()); });
    }

    static bp_code compile(bp_device* device, const bp_graph* graph, const bp_compile* how, bp_program** out,
                           bp_error* error) {
        return sdk::guard(error, [&] {
            const bp_compile h = how != nullptr ? sdk::read(how) : bp_compile{};
            *out = reinterpret_cast<bp_program*>(new Program(*of(device), graph, h));
        });
    }

    static bp_code program_info(bp_program* program, bp_program_info* info, bp_error* error) {
        return sdk::guard(error, [&] { sdk::write(info, of(program)->info()); });
    }

    static bp_code run(bp_program* program, const bp_run* run, bp_error* error) {
        return sdk::guard(error, [&] { of(program)->run(sdk::read(run)); });
    }

    static void program_close(bp_program* program) { delete of(program); }

    static bp_code buffer_create(bp_device* device, uint32_t heap, uint64_t size, bp_buffer** out, bp_error* error) {
        return sdk::guard(error, [&] {
            if (heap != 0)
                throw sdk::Failure(BP_INVALID, std::string("buffer_create: devices of ") + B::kName + " have one heap, 0");
            of(device)->check_lost();
            auto buffer = std::make_unique<Buffer>(of(device)->memory->create(size));
            buffer->device = of(device);
            *out = reinterpret_cast<bp_buffer*>(buffer.release());
        });
    }

    static bp_code buffer_import(bp_device* device, void* memory, uint64_t size, bp_buffer** out, bp_error* error) {
        return sdk::guard(error, [&] {
            of(device)->check_lost();
            auto buffer = std::make_unique<Buffer>(of(device)->memory->import(memory, size));
            buffer->device = of(device);
            *out = reinterpret_cast<bp_buffer*>(buffer.release());
        });
    }

    static bp_code buffer_map(bp_buffer* buffer, uint64_t offset, uint64_t size, void** out, bp_error* error) {
        return sdk::guard(error, [&] {
            Buffer& b = *of(buffer);
            if (offset > b.size || size > b.size - offset)
                throw sdk::Failure(BP_INVALID, "buffer_map: the range lies outside the buffer");
            *out = nullptr;
            if (size == 0) return;
            *out = b.device->map(b, offset, size);
            if (*out == nullptr)
                throw sdk::Failure(BP_UNSUPPORTED, "buffer_map: the memory of " + b.device->physical.name +
                                                       " is not visible to the host; copy instead");
        });
    }

    static bp_code buffer_unmap(bp_buffer* buffer, bp_error* error) {
        return sdk::guard(error, [&] { of(buffer)->device->unmap(*of(buffer)); });
    }

    static void buffer_close(bp_buffer* buffer) {
        const std::unique_ptr<Buffer> mine(of(buffer));
        if (mine != nullptr) mine->device->memory->close(*mine);
    }

    static void check_inside(const Buffer* buffer, uint64_t offset, uint64_t bytes) {
        if (buffer != nullptr && (offset > buffer->size || bytes > buffer->size - offset))
            throw sdk::Failure(BP_INVALID, "copy: " + std::to_string(bytes) + " bytes at " + std::to_string(offset) +
                                               " lie outside the buffer of " + std::to_string(buffer->size));
    }

    static bp_code copy(bp_device* device, const bp_copy* copy, bp_error* error) {
        return sdk::guard(error, [&] {
            const bp_copy c = sdk::read(copy);
            const Buffer* from = of(c.from_buffer);
            const Buffer* to = of(c.to_buffer);
            const bool one_source = (from != nullptr) != (c.from_host != nullptr);
            const bool one_destination = (to != nullptr) != (c.to_host != nullptr);
            if (c.bytes != 0 && (!one_source || !one_destination))
                throw sdk::Failure(BP_INVALID, "copy: each side must be one of a buffer and host memory");
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
};

}  // namespace backplane::gpu
