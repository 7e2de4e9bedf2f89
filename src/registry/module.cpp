#include "registry/module.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>

#include "backplane/note.h"
#include "base/errors.hpp"
#include "base/process_state.hpp"
#include "base/thrown.hpp"

namespace backplane::registry {

namespace {

constexpr uint32_t kMostDevices = 256;
constexpr size_t kMostReason = 1000;

// A module's text, cut to a sensible length and freed of control characters.
std::string clean(const char* text, size_t most = 256) {
    std::string result;
    for (; text != nullptr && *text != '\0' && result.size() < most; ++text)
        result += static_cast<unsigned char>(*text) < 0x20 || *text == 0x7f ? ' ' : *text;
    return result;
}

std::string clean(std::string_view text) { return clean(std::string(text).c_str(), kMostReason); }

// What sentences call it.
std::string label_of(const discovery::Rated& rated) {
    if (rated.linked_in == nullptr) return rated.inspection.path.filename().string();
    return (rated.inspection.descriptor ? rated.inspection.descriptor->backend : "the module") + " (linked in)";
}

backplane_module_fn entry_of(const discovery::Rated& rated, const base::DynamicLibrary& library) {
    if (rated.linked_in != nullptr) return rated.linked_in->entry;
    return reinterpret_cast<backplane_module_fn>(library.symbol("backplane_module"));
}

bp_module_api read_table(const bp_module_api* theirs) {
    if (theirs == nullptr) throw LoadFailure{ReasonCode::abi_mismatch, "it gave no table for this host's ABI"};
    if (theirs->abi >> 16 != BP_ABI_MAJOR)
        throw LoadFailure{ReasonCode::abi_mismatch,
                          "its table is of ABI " + std::to_string(theirs->abi >> 16) + ", its descriptor said otherwise"};
    bp_module_api mine{};
    const uint32_t known = std::min<uint32_t>(theirs->struct_size, sizeof mine);
    if (known < 8)
        throw LoadFailure{ReasonCode::bad_table,
                          "its table states a size of " + std::to_string(theirs->struct_size) + " bytes"};
    std::memcpy(&mine, theirs, known);
    mine.struct_size = known;
    const std::array required{
        std::pair{mine.open != nullptr, "open"},
        std::pair{mine.close != nullptr, "close"},
        std::pair{mine.list != nullptr, "list"},
        std::pair{mine.device_open != nullptr, "device_open"},
        std::pair{mine.device_close != nullptr, "device_close"},
        std::pair{mine.query != nullptr, "query"},
        std::pair{mine.compile != nullptr, "compile"},
        std::pair{mine.program_info != nullptr, "program_info"},
        std::pair{mine.run != nullptr, "run"},
        std::pair{mine.program_close != nullptr, "program_close"},
        std::pair{mine.buffer_create != nullptr, "buffer_create"},
        std::pair{mine.buffer_close != nullptr, "buffer_close"},
        std::pair{mine.copy != nullptr, "copy"},
    };
    for (const auto& [there, name] : required)
        if (!there) throw LoadFailure{ReasonCode::bad_table, std::string("its table lacks the required function ") + name};
    return mine;
}

// PCI first: one chip has one address, while drivers have been seen to give one UUID to two.
std::vector<std::string> identities_of(const bp_device_info& d) {
    std::vector<std::string> identities;
    std::array<char, 64> text{};
    if ((d.identity_known & BP_ID_PCI) != 0) {
        std::snprintf(text.data(), text.size(), "pci:%04x:%02x:%02x.%x", d.pci_domain, d.pci_bus, d.pci_device,
                      d.pci_function);
        identities.emplace_back(text.data());
    }
    if ((d.identity_known & BP_ID_UUID) != 0) {
        std::string uuid = "uuid:";
        for (const uint8_t byte : d.uuid) {
            std::snprintf(text.data(), text.size(), "%02x", byte);
            uuid += text.data();
        }
        identities.push_back(std::move(uuid));
    }
    if (identities.empty() && d.kind == BP_KIND_CPU) identities.emplace_back("cpu");
    return identities;
}

DeviceInfo info_of(const bp_device_info& d) {
    DeviceInfo info;
    info.name = clean(d.name);
    info.driver = clean(d.driver);
    info.kind = d.kind <= BP_KIND_SOFTWARE ? static_cast<DeviceKind>(d.kind) : DeviceKind::unknown;
    info.identities = identities_of(d);
    if (!info.identities.empty()) info.identity = info.identities.front();
    info.memory_total = d.memory_total;
    info.memory_free = d.memory_free;
    info.capabilities = Flags<Capability>(d.capabilities);
    info.max_buffer = d.max_buffer;
    info.dtypes = d.dtypes;
    info.units = d.units;
    info.fingerprint = {d.fingerprint[0], d.fingerprint[1]};
    info.features = clean(d.features);
    info.warning = clean(d.warning);
    info.memory_source = clean(d.memory_source);
    info.queues = std::max(d.queues, 1U);
    info.copy_queues = d.copy_queues;
    return info;
}

std::string with_reason(const std::string& text, bp_code code, const base::ErrorRoom& room) {
    return text + ": " + (room.text().empty() ? name_of(static_cast<Code>(code)) : clean(room.text()));
}

// What tells this build of a module from every other: the linker's build id, or which file it is and when it was written. A linked-in one
// is part of the library's own file.
std::string build_of(const discovery::Rated& rated) {
    const discovery::Inspection own =
        rated.linked_in != nullptr ? discovery::inspect(base::own_file()) : discovery::Inspection();
    const discovery::Inspection& file = rated.linked_in != nullptr ? own : rated.inspection;
    const Descriptor d = rated.inspection.descriptor.value_or(Descriptor{});
    const std::string name = d.backend + " " + d.version + " " + (d.build.empty() ? "" : d.build + " ");
    if (!file.binary.build_id.empty()) return name + "build " + file.binary.build_id;
    return name + "file " + std::to_string(file.status.volume) + ":" + std::to_string(file.status.number) + " " +
           std::to_string(file.status.size) + " bytes of " + std::to_string(file.status.modified_ns);
}

// What was judged, and tried in a child process, is what is loaded. Asked right before and right after: the file is opened in between.
void expect_same_file(const discovery::Inspection& module) {
    const base::FileStatus& judged = module.status;
    if (judged.kind != base::FileStatus::Kind::regular) return;  // the loader found it, no folder did
    const base::FileStatus now = base::status_of(module.path);
    if (now.volume == judged.volume && now.number == judged.number && now.size == judged.size &&
        now.modified_ns == judged.modified_ns)
        return;
    throw LoadFailure{ReasonCode::load_failed, "it was changed while it was being loaded: another file has its name now",
                      "start again, or rescan, when the installer is done"};
}

// Room for records, and a record more that nobody is to touch: who writes past the end has not harmed anything yet.
class DeviceRoom {
public:
    explicit DeviceRoom(size_t count) : infos_(count + 1) {}
    bp_array prepared() {
        std::fill(infos_.begin(), infos_.end(), bp_device_info{});
        for (bp_device_info& info : infos_) info.struct_size = kSize;
        std::memset(static_cast<void*>(&infos_.back()), kUntouched, sizeof(bp_device_info));
        return {infos_.data(), static_cast<uint32_t>(size()), sizeof(bp_device_info)};
    }
    // R2 of module.h: the size in each record is the host's.
    [[nodiscard]] bool intact() const {
        const auto* guard = reinterpret_cast<const unsigned char*>(&infos_.back());
        return std::all_of(guard, guard + sizeof(bp_device_info), [](unsigned char byte) { return byte == kUntouched; }) &&
               std::all_of(infos_.begin(), infos_.end() - 1, [](const bp_device_info& i) { return i.struct_size == kSize; });
    }
    [[nodiscard]] size_t size() const { return infos_.size() - 1; }
    [[nodiscard]] const bp_device_info& operator[](size_t i) const { return infos_[i]; }

private:
    static constexpr uint32_t kSize = BP_SIZE(bp_device_info, copy_queues);
    static constexpr unsigned char kUntouched = 0xa5;
    std::vector<bp_device_info> infos_;
};

}  // namespace

Module::Module(const discovery::Rated& rated, const std::shared_ptr<const HostServices>& services, Step step,
               std::unique_ptr<Mark> mark)
    : own_(base::DynamicLibrary::of_this_code()),
      mark_(std::move(mark)),
      inspection_(rated.inspection),
      host_(std::make_unique<Host>(services, services->cache ? build_of(rated) : std::string())),
      guarded_(label_of(rated), api_, services) {
    const base::KeepFloatingPoint keep;  // constructors of what is linked with -ffast-math change it
    guarded_.set_mark(mark_.get());
    guarded_.set_host(host_.get());
    const auto next = [&](const char* name) {
        if (step != nullptr) step(name);
    };
    next("load");
    if (rated.linked_in == nullptr) {
        const Inside inside(mark_.get(), Stage::load);
        expect_same_file(inspection_);
        try {
            library_ = base::DynamicLibrary(inspection_.path);
        } catch (const Error& error) {
            throw LoadFailure{ReasonCode::load_failed, std::string("the system would not load it: ") + error.what()};
        } catch (...) {
            throw LoadFailure{ReasonCode::load_failed, "it threw while it was loaded: " + clean(base::words_of_exception())};
        }
    }
    expect_end_.emplace();
    if (rated.linked_in == nullptr) expect_same_file(inspection_);
    const backplane_module_fn entry = entry_of(rated, library_);
    if (entry == nullptr) throw LoadFailure{ReasonCode::entry_missing, "it does not export backplane_module"};
    next("table");
    std::string problem;
    const bp_module_api* theirs = guarded_.table(entry, problem);
    if (!problem.empty()) throw LoadFailure{ReasonCode::open_failed, clean(std::string_view(problem))};
    api_ = read_table(theirs);
    next("open");
    base::ErrorRoom room;
    const bp_code code = guarded_.call<&bp_module_api::open>(room, host_->table(), &handle_);
    if (guarded_.wrote_over_host() != nullptr) {  // and may do so on a thread of its own
        base::leave_open(host_.release());
        library_.keep();
    }
    expect_host_unchanged();
    if (code != BP_OK || handle_ == nullptr)
        throw LoadFailure{ReasonCode::open_failed,
                          code == BP_OK ? "it opened and gave no handle" : with_reason("it would not open", code, room)};
}

Module::~Module() {
    if (base::process_is_ending()) {  // its threads may go on, with the host's table, until the process is no more
        base::leave_open(host_.release());
        base::leave_open(handle_);
        base::leave_open(mark_.release());
        library_.keep();
        own_.keep();
        return;
    }
    if (handle_ != nullptr) guarded_.close<&bp_module_api::close>(handle_);
    if (!inspection_.descriptor || (inspection_.descriptor->flags & BP_NOTE_UNLOADABLE) == 0) library_.keep();
    const Inside inside(mark_.get(), Stage::unload);
    expect_end_.reset();
    library_ = {};
}

void Module::keep_mapped() noexcept {
    if (inspection_.descriptor) inspection_.descriptor->flags &= ~uint32_t{BP_NOTE_UNLOADABLE};
}

std::vector<ListedDevice> Module::list(std::string& remark) const {
    DeviceRoom infos(16);
    uint32_t count = 0;
    for (;;) {
        const bp_array room_for = infos.prepared();
        base::ErrorRoom room;
        count = 0;
        const bp_code code = guarded_.call<&bp_module_api::list>(room, handle_, &room_for, &count);
        expect_host_unchanged();
        if (code != BP_OK)
            throw LoadFailure{ReasonCode::no_devices, with_reason("it could not list its devices", code, room)};
        if (count > kMostDevices)
            throw LoadFailure{ReasonCode::bad_table, "it claims to have " + std::to_string(count) + " devices"};
        if (!infos.intact())
            throw LoadFailure{ReasonCode::bad_table, "it wrote beyond the room that it was given for its devices"};
        remark = clean(room.text());
        if (count <= infos.size()) break;
        infos = DeviceRoom(count);  // more than there was room for: ask again, there may be more still by then
    }
    std::vector<ListedDevice> devices;
    for (uint32_t i = 0; i < count; ++i) {
        for (const ListedDevice& other : devices)
            if (other.id == infos[i].id) throw LoadFailure{ReasonCode::bad_table, "two of its devices have the same id"};
        devices.push_back({infos[i].id, info_of(infos[i])});
    }
    return devices;
}

void Module::expect_host_unchanged() const {
    if (const char* function = guarded_.wrote_over_host())
        throw LoadFailure{ReasonCode::bad_table, std::string("it wrote over the host's table in '") + function + "'"};
}

const void* Module::extension(const char* id) const {
    return BP_HAS(&api_, extension) ? guarded_.extension(handle_, id) : nullptr;
}

bp_device* Module::open_device(uint64_t id) const {
    base::ErrorRoom room;
    bp_device* device = nullptr;
    base::check(guarded_.call<&bp_module_api::device_open>(room, handle_, id, &device), "cannot open the device", room);
    if (device == nullptr)
        throw Error(Code::internal, "cannot open the device: the module reports success and gives no handle");
    return device;
}

}  // namespace backplane::registry
