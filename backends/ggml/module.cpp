// The ABI line: every function of the table, each a few lines over the classes behind it.
#include <cstdio>
#include <cstring>

#include "common/hash.hpp"
#include "handles.hpp"
#include "platform/library.hpp"
#include "program.hpp"
#include "variants.hpp"

namespace backplane::ggml {

namespace {

Module* of(bp_module* m) { return reinterpret_cast<Module*>(m); }
OpenDevice* of(bp_device* d) { return reinterpret_cast<OpenDevice*>(d); }
Program* of(bp_program* p) { return reinterpret_cast<Program*>(p); }
DeviceBuffer* of(bp_buffer* b) { return reinterpret_cast<DeviceBuffer*>(b); }

// Where to look: where the option says and nowhere else, or beside this module.
std::vector<fs::path> folders(const Module& module) {
    if (const std::string wanted = module.host.option("ggml.path"); !wanted.empty()) return {fs::path(wanted)};
    const fs::path own = file_of(reinterpret_cast<const void*>(&folders)).parent_path();
    return own.empty() ? std::vector<fs::path>() : std::vector<fs::path>{own / "ggml", own};
}

uint32_t kind_of(const DeviceProps& props) {
    if (is_software(props)) return BP_KIND_SOFTWARE;
    switch (props.type) {
        case kTypeCpu: return BP_KIND_CPU;
        case kTypeGpu: return BP_KIND_DISCRETE;
        case kTypeIntegrated: return BP_KIND_INTEGRATED;
        case kTypeAccelerator: return BP_KIND_ACCELERATOR;
        case kTypeMeta: return BP_KIND_VIRTUAL;
        default: return BP_KIND_UNKNOWN;
    }
}

void set_identity(bp_device_info& info, const char* id) {
    unsigned domain = 0, bus = 0, device = 0, function = 0;
    if (id == nullptr || std::sscanf(id, "%x:%x:%x.%x", &domain, &bus, &device, &function) != 4) return;
    info.identity_known = BP_ID_PCI;
    info.pci_domain = domain;
    info.pci_bus = bus;
    info.pci_device = device;
    info.pci_function = function;
}

bp_device_info describe(const Module& m, size_t index) {
    const FoundDevice& found = m.installation->devices()[index];
    const BaseLibrary& base = m.installation->base();
    bp_device_info info{};
    info.kind = kind_of(found.props);
    info.id = index + 1;
    info.name = found.props.name;
    info.driver = m.drivers[index].c_str();
    set_identity(info, found.props.device_id);
    info.fingerprint[0] = backend::hash_of(m.drivers[index]);
    info.fingerprint[1] = backend::hash_of(found.module + (base.commit != nullptr ? base.commit() : ""));
    if (found.props.caps.buffer_from_host_ptr) info.capabilities |= BP_CAN_IMPORT_HOST;
    BufferType* type = base.backend_dev_buffer_type(found.device);
    if (base.backend_buft_is_host(type)) info.capabilities |= BP_CAN_MAP;
    size_t available = 0, total = 0;
    base.backend_dev_memory(found.device, &available, &total);
    info.memory_total = total;
    info.memory_free = available;
    if (total != 0) info.memory_source = "ggml";
    const size_t largest = base.backend_buft_get_max_size(type);
    info.max_buffer = largest == SIZE_MAX ? 0 : largest;
    info.dtypes = 1U << BP_F32 | 1U << BP_F16 | 1U << BP_BF16;
    if (!found.features.empty()) info.features = found.features.c_str();
    return info;
}

// The host's cache, for texts.
class HostCache final : public Notebook {
public:
    explicit HostCache(const backend::Host& host) : host_(host) {}
    [[nodiscard]] std::string read(const std::string& key) const override {
        std::string text;
        host_.cached(key, [&](const bp_blob& value) {
            if (value.data != nullptr) text.assign(static_cast<const char*>(value.data), value.size);
        });
        return text;
    }
    void write(const std::string& key, const std::string& text) const override {
        host_.remember(key, {text.data(), text.size()});
    }

private:
    const backend::Host& host_;
};

// ---- module and devices ----

bp_code open(const bp_host* host, bp_module** out, bp_error* error) {
    return sdk::guard(error, [&] {
        need(out, "place for the module") = nullptr;
        *out = reinterpret_cast<bp_module*>(new Module(&need(host, "host table")));
    });
}

void close(bp_module* module) { delete of(module); }

const void* extension(bp_module*, const char*) { return nullptr; }

bp_code list(bp_module* module, const bp_array* infos, uint32_t* count, bp_error* error) {
    return sdk::guard(error, [&] {
        const Module& m = need(of(module), "module");
        const size_t devices = m.installation != nullptr ? m.installation->devices().size() : 0;
        need(count, "place for the count") = static_cast<uint32_t>(devices);
        if (devices == 0) sdk::fail(error, BP_OK, m.why_none);
        if (infos == nullptr || infos->first == nullptr) return;
        for (uint32_t i = 0; i < devices && i < infos->count; ++i)
            sdk::write(BP_AT_OUT(bp_device_info, infos, i), describe(m, i));
    });
}

bp_code device_open(bp_module* module, uint64_t id, bp_device** out, bp_error* error) {
    return sdk::guard(error, [&] {
        need(out, "place for the device") = nullptr;
        const Module& m = need(of(module), "module");
        if (m.installation == nullptr || id == 0 || id > m.installation->devices().size())
            throw sdk::Failure(BP_NOT_FOUND, "device_open: ggml has no device " + std::to_string(id));
        *out = reinterpret_cast<bp_device*>(new OpenDevice(m, m.installation->devices()[id - 1]));
    });
}

void device_close(bp_device* device) { delete of(device); }

bp_code heaps(bp_device* device, const bp_array* heaps, uint32_t* count, bp_error* error) {
    return sdk::guard(error, [&] {
        const OpenDevice& d = need(of(device), "device");
        need(count, "place for the count") = 1;
        if (heaps == nullptr || heaps->first == nullptr || heaps->count == 0) return;
        size_t available = 0, total = 0;
        d.base.backend_dev_memory(d.found.device, &available, &total);
        bp_heap heap{};
        if (total != 0) heap.flags |= BP_MEM_BUDGET;
        if (d.host_memory) heap.flags |= BP_MEM_UNIFIED | BP_MEM_HOST_VISIBLE;
        heap.total = total;
        heap.available = available;
        heap.used_by_us = d.bytes_used;
        heap.largest_block = std::min(available, d.largest);
        heap.alignment = d.alignment;
        sdk::write(BP_AT_OUT(bp_heap, heaps, 0), heap);
    });
}

bp_code options(bp_device* device, const bp_array* options, uint32_t* count, bp_error* error) {
    return sdk::guard(error, [&] {
        const OpenDevice& d = need(of(device), "device");
        std::vector<bp_option> all;
        bp_option native{};
        native.type = BP_OPTION_BOOL;
        native.name = "native-rounding";
        native.help =
            "Programs compiled from now on round activations to the type of the weights, as ggml does by itself, outside "
            "the conformance bounds.";
        native.integer = d.native ? 1 : 0;
        all.push_back(native);
        bp_option threads{};
        threads.type = BP_OPTION_INT;
        threads.name = "threads";
        threads.help = "Threads that compute; they live as long as the device is open.";
        threads.integer = d.threads();
        threads.integer_least = 1;
        threads.integer_most = kMostThreads;
        if (d.has_threads()) all.push_back(threads);
        need(count, "place for the count") = static_cast<uint32_t>(all.size());
        if (options == nullptr || options->first == nullptr) return;
        for (uint32_t i = 0; i < all.size() && i < options->count; ++i) sdk::write(BP_AT_OUT(bp_option, options, i), all[i]);
    });
}

bp_code option_set(bp_device* device, const bp_option* option, bp_error* error) {
    return sdk::guard(error, [&] {
        OpenDevice& d = need(of(device), "device");
        const bp_option o = sdk::read(&need(option, "option"));
        const std::string name = o.name != nullptr ? o.name : "";
        if (name == "native-rounding") {
            if (o.type != BP_OPTION_BOOL) throw sdk::Failure(BP_INVALID, "option native-rounding takes true or false");
            d.native = o.integer != 0;
        } else if (name == "threads" && d.has_threads()) {
            if (o.type != BP_OPTION_INT || o.integer < 1 || o.integer > kMostThreads)
                throw sdk::Failure(BP_INVALID,
                                   "option threads takes a whole number from 1 to " + std::to_string(kMostThreads));
            d.set_threads(static_cast<int>(o.integer));
        } else {
            throw sdk::Failure(BP_NOT_FOUND, "this ggml device has no option '" + name + "'; it has: native-rounding" +
                                                 (d.has_threads() ? ", threads" : ""));
        }
    });
}

// ---- programs ----

bp_code query_graph(bp_device* device, const bp_graph* graph, const bp_array* answers, bp_error* error) {
    return sdk::guard(error,
                      [&] { query(need(of(device), "device"), need(graph, "graph"), need(answers, "room for answers")); });
}

bp_code compile(bp_device* device, const bp_graph* graph, const bp_compile* how, bp_program** out, bp_error* error) {
    return sdk::guard(error, [&] {
        need(out, "place for the program") = nullptr;
        const bp_compile settings = how == nullptr ? bp_compile{} : sdk::read(how);
        *out = reinterpret_cast<bp_program*>(new Program(need(of(device), "device"), need(graph, "graph"), settings));
    });
}

bp_code program_info(bp_program* program, bp_program_info* info, bp_error* error) {
    return sdk::guard(error, [&] { sdk::write(&need(info, "program info"), need(of(program), "program").info()); });
}

bp_code pack(bp_program* program, uint32_t slot, const bp_copy* request, bp_error* error) {
    return sdk::guard(error, [&] { need(of(program), "program").pack(slot, sdk::read(&need(request, "copy"))); });
}

bp_code run(bp_program* program, const bp_run* request, bp_error* error) {
    return sdk::guard(error, [&] { need(of(program), "program").run(sdk::read(&need(request, "run"))); });
}

void program_close(bp_program* program) { delete of(program); }

// ---- memory ----

bp_code buffer_create(bp_device* device, uint32_t heap, uint64_t size, bp_buffer** out, bp_error* error) {
    return sdk::guard(error, [&] {
        need(out, "place for the buffer") = nullptr;
        if (heap != 0)
            throw sdk::Failure(BP_INVALID,
                               "cannot create a buffer on heap " + std::to_string(heap) + ": there is heap 0 only");
        *out = reinterpret_cast<bp_buffer*>(new DeviceBuffer(need(of(device), "device"), size));
    });
}

bp_code buffer_import(bp_device* device, void* memory, uint64_t size, bp_buffer** out, bp_error* error) {
    return sdk::guard(error, [&] {
        need(out, "place for the buffer") = nullptr;
        *out = reinterpret_cast<bp_buffer*>(new DeviceBuffer(need(of(device), "device"), memory, size));
    });
}

bp_code buffer_map(bp_buffer* buffer, uint64_t offset, uint64_t size, void** out, bp_error* error) {
    return sdk::guard(error, [&] {
        need(out, "place for the pointer") = nullptr;
        const DeviceBuffer& b = need(of(buffer), "buffer");
        if (!b.device.host_memory)
            throw sdk::Failure(BP_UNSUPPORTED,
                               "cannot map a buffer of this ggml device: its memory is its own; copy instead");
        if (!b.contains(offset, size))
            throw sdk::Failure(BP_INVALID, "cannot map " + std::to_string(size) + " bytes at " + std::to_string(offset) +
                                               " of a buffer of " + std::to_string(b.size));
        *out = b.start + offset;
    });
}

bp_code buffer_unmap(bp_buffer* buffer, bp_error* error) {
    return sdk::guard(error, [&] { static_cast<void>(need(of(buffer), "buffer")); });
}

void buffer_close(bp_buffer* buffer) { delete of(buffer); }

bp_code copy_bytes(bp_device* device, const bp_copy* request, bp_error* error) {
    return sdk::guard(error, [&] { copy(need(of(device), "device"), sdk::read(&need(request, "copy"))); });
}

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
    table.pack = pack;
    table.run = run;
    table.program_close = program_close;
    table.buffer_create = buffer_create;
    table.buffer_import = buffer_import;
    table.buffer_map = buffer_map;
    table.buffer_unmap = buffer_unmap;
    table.buffer_close = buffer_close;
    table.copy = copy_bytes;
    return table;
}

constinit const bp_module_api kTable = make_table();

}  // namespace

Module::Module(const bp_host* table) : host(table) {
    try {
        const std::vector<fs::path> where = folders(*this);
        if (where.empty()) throw sdk::Failure(BP_NOT_FOUND, "set the option ggml.path to the folder of a ggml");
        installation =
            std::make_unique<Installation>(where, host.option("host.cpu-mask"), HostCache(host), ears_for_errors());
    } catch (const std::exception& e) {
        why_none = e.what();
        return;
    }
    const BaseLibrary& base = installation->base();
    for (const std::string& note : installation->notes()) {
        host.log(BP_LOG_INFO, "ggml: " + note);
        why_none += (why_none.empty() ? "" : "; ") + note;
    }
    if (installation->notes().empty()) why_none = "no backend module beside " + base.file().string();
    for (const FoundDevice& d : installation->devices())
        drivers.push_back(base.version_text() + ", " + d.module +
                          (d.props.description != nullptr ? std::string(": ") + d.props.description : ""));
}

Module::~Module() = default;

}  // namespace backplane::ggml

// The entry: pure, callable at any time from any thread. A host of another major gets nothing.
extern "C" const bp_module_api* backplane_ggml(uint32_t host_abi);
const bp_module_api* backplane_ggml(uint32_t host_abi) {
    return host_abi >> 16 == BP_ABI_MAJOR ? &backplane::ggml::kTable : nullptr;
}
