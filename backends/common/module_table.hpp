// The ABI line, once for the backends here: every function of the table reads what the host hands over, checks it, and calls a class of the backend.
// Nothing of the host's is null where something is needed, and nothing is thrown across the line.
//
// `Module` says which classes these are, Device, Program, Buffer and Fence, and is the first of them:
//
//   Module    Module(const bp_host&)  count()  info(i)  why()  open(id)
//   Device    heaps()  query(graph, answers)  create(heap, size)  import(memory, size)  copy(what)
//   Program   Program(device, graph, how)  info()  run(how)
//   Buffer    size  map(offset, size)
//
// What a backend need not have is absent in its table, or has the answer of who has nothing of the kind:
//
//   Module    extension(id), static
//   Device    options() with set_option(option)      make_fence() with Fence: read()  wait(value, nanoseconds)
//   Device    lose(): a call on it has answered BP_DEVICE_LOST, or one on a program, buffer or fence whose owner() it is
//   Program   pack(slot, what)
//   Buffer    unmap()
//
// What makes an object gives a std::unique_ptr of it; the host's closing is its end.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "backplane/sdk.hpp"

namespace backplane::backend {

template <typename Module>
class ModuleTable {
public:
    // By name, so that a function cannot end up in the place of another.
    static constexpr bp_module_api make() {
        bp_module_api table{};
        table.struct_size = BP_SIZE(bp_module_api, fence_close);
        table.abi = BP_ABI;
        table.open = open;
        table.close = close<Module, bp_module>;
        table.extension = extension;
        table.list = list;
        table.device_open = device_open;
        table.device_close = close<Device, bp_device>;
        table.heaps = heaps;
        if constexpr (kHasOptions) {
            table.options = options;
            table.option_set = option_set;
        }
        table.query = query;
        table.compile = compile;
        table.program_info = program_info;
        if constexpr (requires(Program & p, const bp_copy& c) { p.pack(0U, c); }) table.pack = pack;
        table.run = run;
        table.program_close = close<Program, bp_program>;
        table.buffer_create = buffer_create;
        table.buffer_import = buffer_import;
        table.buffer_map = buffer_map;
        table.buffer_unmap = buffer_unmap;
        table.buffer_close = close<Buffer, bp_buffer>;
        table.copy = copy;
        if constexpr (requires(Device & d) { d.make_fence(); }) {
            using Fence = typename Module::Fence;
            table.fence_create = fence_create;
            table.fence_read = fence_read;
            table.fence_wait = fence_wait;
            table.fence_close = close<Fence, bp_fence>;
        }
        return table;
    }

    // What the module's one function answers: pure, callable at any time from any thread. A host of another major gets nothing.
    static const bp_module_api* entry(uint32_t host_abi) {
        static constinit const bp_module_api table = make();
        return host_abi >> 16 == BP_ABI_MAJOR ? &table : nullptr;
    }

private:
    using Device = typename Module::Device;
    using Program = typename Module::Program;
    using Buffer = typename Module::Buffer;

    static constexpr bool kHasOptions = requires(Device & d, const bp_option& o) {
        d.options();
        d.set_option(o);
    };

    template <typename T>
    static T& need(T* pointer, const char* what) {
        if (pointer == nullptr) throw sdk::Failure(BP_INVALID, std::string("the host passed no ") + what);
        return *pointer;
    }
    static Module& of(bp_module* m) { return need(reinterpret_cast<Module*>(m), "module"); }
    static Device& of(bp_device* d) { return need(reinterpret_cast<Device*>(d), "device"); }
    static Program& of(bp_program* p) { return need(reinterpret_cast<Program*>(p), "program"); }
    static Buffer& of(bp_buffer* b) { return need(reinterpret_cast<Buffer*>(b), "buffer"); }

    // The object that make() returns becomes the host's.
    template <typename Handle, typename Make>
    static void give(Handle** out, const Make& make) {
        need(out, "place for what is made") = nullptr;
        *out = reinterpret_cast<Handle*>(make().release());
    }
    template <typename T, typename Handle>
    static void close(Handle* handle) {
        delete reinterpret_cast<T*>(handle);
    }

    template <typename Body>
    static bp_code guard(bp_error* error, const Body& body) {
        return sdk::guard(error, [&] {
            if constexpr (requires { Module::as_failures(body); }) {
                Module::as_failures(body);
            } else {
                body();
            }
        });
    }
    // Of a call on something whose device may be lost: what its driver says of it in one call holds for all that follow.
    template <typename Handle, typename Body>
    static bp_code on(Handle* handle, bp_error* error, const Body& body) {
        const bp_code code = guard(error, body);
        if constexpr (requires(Device & d) { d.lose(); })
            if (code == BP_DEVICE_LOST) owner_of(handle).lose();
        return code;
    }
    static Device& owner_of(bp_device* device) { return of(device); }
    template <typename Handle>
    static Device& owner_of(Handle* handle) {
        return of(handle).owner();
    }

    // `count` of something, and as many as the host has room for.
    template <typename T, typename Each>
    static void list_to(const bp_array* into, uint32_t* count, uint32_t there, const Each& each) {
        need(count, "place for the count") = there;
        if (into == nullptr || into->first == nullptr) return;
        for (uint32_t i = 0; i < std::min(into->count, there); ++i) sdk::write(BP_AT_OUT(T, into, i), each(i));
    }

    static bp_code open(const bp_host* host, bp_module** out, bp_error* error) {
        return guard(error, [&] { give(out, [&] { return std::make_unique<Module>(need(host, "host table")); }); });
    }
    static const void* extension(bp_module*, const char* id) {
        if constexpr (requires { Module::extension(id); }) return id != nullptr ? Module::extension(id) : nullptr;
        return nullptr;
    }

    static bp_code list(bp_module* module, const bp_array* infos, uint32_t* count, bp_error* error) {
        return guard(error, [&] {
            Module& m = of(module);
            const uint32_t there = m.count();
            if (const std::string why = m.why(); !why.empty()) sdk::fail(error, BP_OK, why);
            list_to<bp_device_info>(infos, count, there, [&](uint32_t i) { return m.info(i); });
        });
    }
    static bp_code device_open(bp_module* module, uint64_t id, bp_device** out, bp_error* error) {
        return guard(error, [&] { give(out, [&] { return of(module).open(id); }); });
    }
    static bp_code heaps(bp_device* device, const bp_array* heaps, uint32_t* count, bp_error* error) {
        return guard(error, [&] {
            const auto all = of(device).heaps();
            list_to<bp_heap>(heaps, count, static_cast<uint32_t>(all.size()), [&](uint32_t i) { return all[i]; });
        });
    }
    static bp_code options(bp_device* device, const bp_array* options, uint32_t* count, bp_error* error) {
        return guard(error, [&] {
            const auto all = of(device).options();
            list_to<bp_option>(options, count, static_cast<uint32_t>(all.size()), [&](uint32_t i) { return all[i]; });
        });
    }
    static bp_code option_set(bp_device* device, const bp_option* option, bp_error* error) {
        return guard(error, [&] {
            bp_option o = sdk::read(&need(option, "option"));
            if (o.name == nullptr) o.name = "";
            of(device).set_option(o);
        });
    }

    static bp_code query(bp_device* device, const bp_graph* graph, const bp_array* answers, bp_error* error) {
        return guard(error, [&] { of(device).query(need(graph, "graph"), need(answers, "room for answers")); });
    }
    static bp_code compile(bp_device* device, const bp_graph* graph, const bp_compile* how, bp_program** out,
                           bp_error* error) {
        return on(device, error, [&] {
            const bp_compile settings = how != nullptr ? sdk::read(how) : bp_compile{};
            give(out, [&] { return std::make_unique<Program>(of(device), need(graph, "graph"), settings); });
        });
    }
    static bp_code program_info(bp_program* program, bp_program_info* info, bp_error* error) {
        return guard(error, [&] { sdk::write(&need(info, "program info"), of(program).info()); });
    }
    static bp_code pack(bp_program* program, uint32_t slot, const bp_copy* copy, bp_error* error) {
        return on(program, error, [&] { of(program).pack(slot, sdk::read(&need(copy, "copy"))); });
    }
    static bp_code run(bp_program* program, const bp_run* run, bp_error* error) {
        return on(program, error, [&] { of(program).run(sdk::read(&need(run, "run"))); });
    }

    static bp_code buffer_create(bp_device* device, uint32_t heap, uint64_t size, bp_buffer** out, bp_error* error) {
        return on(device, error, [&] { give(out, [&] { return of(device).create(heap, size); }); });
    }
    static bp_code buffer_import(bp_device* device, void* memory, uint64_t size, bp_buffer** out, bp_error* error) {
        return on(device, error, [&] { give(out, [&] { return of(device).import(memory, size); }); });
    }
    static bp_code buffer_map(bp_buffer* buffer, uint64_t offset, uint64_t size, void** out, bp_error* error) {
        return on(buffer, error, [&] {
            need(out, "place for the pointer") = nullptr;
            Buffer& b = of(buffer);
            if (offset > b.size || size > b.size - offset)
                throw sdk::Failure(BP_INVALID, "buffer_map: " + std::to_string(size) + " bytes at " +
                                                   std::to_string(offset) + " lie outside the buffer of " +
                                                   std::to_string(b.size));
            *out = b.map(offset, size);
        });
    }
    static bp_code buffer_unmap(bp_buffer* buffer, bp_error* error) {
        return on(buffer, error, [&] {
            Buffer& b = of(buffer);
            if constexpr (requires { b.unmap(); }) b.unmap();
        });
    }
    static bp_code copy(bp_device* device, const bp_copy* copy, bp_error* error) {
        return on(device, error, [&] { of(device).copy(sdk::read(&need(copy, "copy"))); });
    }

    static auto& of(bp_fence* f) { return need(reinterpret_cast<typename Module::Fence*>(f), "fence"); }
    static bp_code fence_create(bp_device* device, bp_fence** out, bp_error* error) {
        return on(device, error, [&] { give(out, [&] { return of(device).make_fence(); }); });
    }
    static bp_code fence_read(bp_fence* fence, uint64_t* value, bp_error* error) {
        return on(fence, error, [&] { need(value, "place for the value") = of(fence).read(); });
    }
    static bp_code fence_wait(bp_fence* fence, uint64_t value, uint64_t timeout_ns, bp_error* error) {
        return on(fence, error, [&] { of(fence).wait(value, timeout_ns); });
    }
};

}  // namespace backplane::backend
