// What the module says of itself and of its devices; the functions of its table are common/module_table.hpp.
#include <cstdio>
#include <cstring>

#include "common/hash.hpp"
#include "common/module_table.hpp"
#include "handles.hpp"
#include "platform/library.hpp"
#include "program.hpp"
#include "variants.hpp"

namespace backplane::ggml {

namespace {

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
        host_.remember(key, std::as_bytes(std::span(text)));
    }

private:
    const backend::Host& host_;
};

}  // namespace

Module::Module(const bp_host& table) : host(&table) {
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

uint32_t Module::count() const {
    return installation != nullptr ? static_cast<uint32_t>(installation->devices().size()) : 0;
}

bp_device_info Module::info(uint32_t index) const {
    const FoundDevice& found = installation->devices()[index];
    const BaseLibrary& base = installation->base();
    bp_device_info info{};
    info.kind = kind_of(found.props);
    info.id = index + 1;
    info.name = found.props.name;
    info.driver = drivers[index].c_str();
    set_identity(info, found.props.device_id);
    info.fingerprint[0] = backend::hash_of(drivers[index]);
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

std::unique_ptr<OpenDevice> Module::open(uint64_t id) const {
    if (id == 0 || id > count()) throw sdk::Failure(BP_NOT_FOUND, "device_open: ggml has no device " + std::to_string(id));
    return std::make_unique<OpenDevice>(*this, installation->devices()[id - 1]);
}

}  // namespace backplane::ggml

// The entry: pure, callable at any time from any thread.
extern "C" const bp_module_api* backplane_ggml(uint32_t host_abi);
const bp_module_api* backplane_ggml(uint32_t host_abi) {
    return backplane::backend::ModuleTable<backplane::ggml::Module>::entry(host_abi);
}
