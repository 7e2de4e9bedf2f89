#include "instance.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "carried_code.hpp"
#include "common/platform/registrations.hpp"
#include "common/platform/system.hpp"
#include "platform/driver_registry.hpp"

namespace backplane::opencl {

namespace {

// What vendors' extensions are asked by; not all headers have them.
constexpr cl_device_info kNvidiaBus = 0x4008, kNvidiaSlot = 0x4009, kNvidiaDomain = 0x400A, kNvidiaIntegrated = 0x4006;
constexpr cl_device_info kNvidiaMajor = 0x4000, kNvidiaMinor = 0x4001;
constexpr cl_device_info kAmdTopology = 0x4037, kAmdBoardName = 0x4038;

template <typename T>
T get(const Functions& cl, cl_device_id device, cl_device_info what, T otherwise = {}) {
    T value{};
    return cl.GetDeviceInfo(device, what, sizeof value, &value, nullptr) == CL_SUCCESS ? value : otherwise;
}

std::string text_of(const Functions& cl, cl_device_id device, cl_device_info what) {
    return answer_of([&](auto... room) { return cl.GetDeviceInfo(device, what, room...); });
}

std::string platform_text(const Functions& cl, cl_platform_id platform, cl_platform_info what) {
    return answer_of([&](auto... room) { return cl.GetPlatformInfo(platform, what, room...); });
}

bool names(const std::string& extensions, const char* name) {
    return (" " + extensions + " ").find(" " + std::string(name) + " ") != std::string::npos;
}

// "OpenCL 3.0 CUDA" -> 300
int version_of(const std::string& text) {
    int major = 0;
    int minor = 0;
    return std::sscanf(text.c_str(), "OpenCL %d.%d", &major, &minor) == 2 ? major * 100 + minor * 10 : 0;
}

uint32_t kind_of(const Functions& cl, const PhysicalDevice& device, const std::string& extensions) {
    const auto type = get<cl_device_type>(cl, device.handle, CL_DEVICE_TYPE);
    if ((type & CL_DEVICE_TYPE_GPU) != 0) {
        bool integrated = get<cl_bool>(cl, device.handle, CL_DEVICE_HOST_UNIFIED_MEMORY) == CL_TRUE;
        if (names(extensions, "cl_nv_device_attribute_query"))
            integrated = get<cl_bool>(cl, device.handle, kNvidiaIntegrated) == CL_TRUE;
        return integrated ? BP_KIND_INTEGRATED : BP_KIND_DISCRETE;
    }
    if ((type & CL_DEVICE_TYPE_ACCELERATOR) != 0) return BP_KIND_ACCELERATOR;
    // A driver for the CPU emulates no other kind of device: it is a CPU, which goes after the cpu backend by its name.
    if ((type & CL_DEVICE_TYPE_CPU) != 0) return BP_KIND_CPU;
    return BP_KIND_UNKNOWN;
}

void identify(const Functions& cl, PhysicalDevice& device, const std::string& extensions) {
    // Drivers for the CPU make up a UUID. All that is known of a CPU is that it is the machine's.
    if (device.kind == BP_KIND_CPU) return;
    const auto stands_at = [&](uint32_t domain, uint32_t bus, uint32_t slot, uint32_t function) {
        const uint32_t pci[4] = {domain, bus, slot, function};
        std::copy_n(pci, 4, device.pci);
        device.pci_known = true;
    };
    if (names(extensions, "cl_khr_device_uuid")) {
        device.uuid_known =
            cl.GetDeviceInfo(device.handle, CL_DEVICE_UUID_KHR, sizeof device.uuid, device.uuid, nullptr) == CL_SUCCESS;
        device.luid_known =
            get<cl_bool>(cl, device.handle, CL_DEVICE_LUID_VALID_KHR) == CL_TRUE &&
            cl.GetDeviceInfo(device.handle, CL_DEVICE_LUID_KHR, sizeof device.luid, device.luid, nullptr) == CL_SUCCESS;
    }
    if (names(extensions, "cl_khr_pci_bus_info")) {
        cl_device_pci_bus_info_khr place{};
        if (cl.GetDeviceInfo(device.handle, CL_DEVICE_PCI_BUS_INFO_KHR, sizeof place, &place, nullptr) == CL_SUCCESS) {
            return stands_at(place.pci_domain, place.pci_bus, place.pci_device, place.pci_function);
        }
    }
    if (names(extensions, "cl_nv_device_attribute_query")) {
        if (const auto slot = get<cl_uint>(cl, device.handle, kNvidiaSlot, UINT32_MAX); slot != UINT32_MAX)
            stands_at(get<cl_uint>(cl, device.handle, kNvidiaDomain), get<cl_uint>(cl, device.handle, kNvidiaBus),
                      slot >> 3 & 31, slot & 7);
    } else if (names(extensions, "cl_amd_device_attribute_query")) {
        struct Topology {  // cl_device_topology_amd
            cl_uint type;
            cl_char unused[17];
            cl_char bus, device, function;
        } topology{};
        constexpr cl_uint kPcie = 1;
        if (cl.GetDeviceInfo(device.handle, kAmdTopology, sizeof topology, &topology, nullptr) == CL_SUCCESS &&
            topology.type == kPcie)
            stands_at(0, static_cast<uint8_t>(topology.bus), static_cast<uint8_t>(topology.device),
                      static_cast<uint8_t>(topology.function));
    }
}

void find_limits(const Functions& cl, PhysicalDevice& device) {
    Abilities& can = device.can;
    // Bytes, shorts, 64-bit integers and loads of halves are part of the full profile.
    can.halves = can.bytes = can.longs = true;
    can.doubles = get<cl_bitfield>(cl, device.handle, CL_DEVICE_DOUBLE_FP_CONFIG) != 0;
    can.software = device.kind == BP_KIND_CPU;
    can.unified = device.kind == BP_KIND_CPU || device.kind == BP_KIND_INTEGRATED;
    can.import = can.unified;
    const uint64_t base = get<cl_uint>(cl, device.handle, CL_DEVICE_MEM_BASE_ADDR_ALIGN, 1024) / 8;
    can.storage_alignment = std::max<uint64_t>(64, std::min<uint64_t>(base, 4096));
    // Integrated GPUs use memory in place when it is whole pages.
    can.import_alignment = device.kind == BP_KIND_CPU ? can.storage_alignment : 4096;
    can.most_allocation = can.most_range = get<cl_ulong>(cl, device.handle, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
    can.most_invocations = static_cast<uint32_t>(get<size_t>(cl, device.handle, CL_DEVICE_MAX_WORK_GROUP_SIZE));
    can.shared_bytes = static_cast<uint32_t>(get<cl_ulong>(cl, device.handle, CL_DEVICE_LOCAL_MEM_SIZE));
    can.patches = can.most_invocations >= 256 && can.shared_bytes >= 24576;
    // NVIDIA's driver says 48 KiB whatever the device; kernels with 160 KiB were seen to run on compute capability 9.0.
    if (device.architecture >= 90) can.shared_bytes = device.architecture < 100 ? 200704 : 101376;
    can.matrix_tiles = can.attention_matrix = device.assembly() && can.most_invocations >= 256 && can.shared_bytes >= 49152;
    can.float_parts = can.attention_matrix ? 16 : 0;
    can.carried = device.assembly() && !kCarriedCodes.empty() &&
                  std::strtoul(text_of(cl, device.handle, CL_DRIVER_VERSION).c_str(), nullptr, 10) >= kCarriedDriver;
    // Of compute capability 9.0 alone: later ones have others.
    can.warpgroup_products =
        !kPtxTexts.empty() && can.matrix_tiles && can.most_invocations >= 384 && device.architecture == 90;
    can.direct_invocations = 8;
    if (!can.software && device.units != 0) can.units = device.units;
}

std::string missing(const Functions& cl, const PhysicalDevice& device, const std::string& version) {
    if (version_of(version) < 120) return "it has " + (version.empty() ? "no OpenCL" : version) + ", 1.2 is needed";
    if (text_of(cl, device.handle, CL_DEVICE_PROFILE) != "FULL_PROFILE") return "it has the embedded profile only";
    if (get<cl_bool>(cl, device.handle, CL_DEVICE_AVAILABLE) != CL_TRUE) return "the driver says that it is not available";
    if (get<cl_bool>(cl, device.handle, CL_DEVICE_COMPILER_AVAILABLE) != CL_TRUE) return "its driver has no compiler";
    if (get<cl_bool>(cl, device.handle, CL_DEVICE_ENDIAN_LITTLE, CL_TRUE) != CL_TRUE) return "it is big-endian";
    if (device.can.most_invocations < 128 || device.can.shared_bytes < 16384) return "its workgroups are too small";
    return {};
}

// Fills all but the handles of `device`. Empty, or why its kernels would not run.
std::string describe(const Functions& cl, PhysicalDevice& device) {
    const std::string extensions = text_of(cl, device.handle, CL_DEVICE_EXTENSIONS);
    const std::string version = text_of(cl, device.handle, CL_DEVICE_VERSION);
    const std::string platform = platform_text(cl, device.platform, CL_PLATFORM_NAME);
    device.name = text_of(cl, device.handle, CL_DEVICE_NAME);
    if (names(extensions, "cl_amd_device_attribute_query"))
        if (const std::string board = text_of(cl, device.handle, kAmdBoardName); !board.empty()) device.name = board;
    device.driver = platform + " " + text_of(cl, device.handle, CL_DRIVER_VERSION);
    device.kind = kind_of(cl, device, extensions);
    device.says_free = names(extensions, "cl_amd_device_attribute_query");
    const auto vendor = get<cl_uint>(cl, device.handle, CL_DEVICE_VENDOR_ID);
    device.vendor = vendor < 0x10000 ? vendor : 0;
    device.units = get<cl_uint>(cl, device.handle, CL_DEVICE_MAX_COMPUTE_UNITS);
    device.memory_total = get<cl_ulong>(cl, device.handle, CL_DEVICE_GLOBAL_MEM_SIZE);
    device.memory_source = device.says_free ? "cl_amd_device_attribute_query" : "CL_DEVICE_GLOBAL_MEM_SIZE";
    identify(cl, device, extensions);
    device.nvidia = names(extensions, "cl_nv_device_attribute_query");
    if (device.nvidia)
        device.architecture =
            get<cl_uint>(cl, device.handle, kNvidiaMajor) * 10 + get<cl_uint>(cl, device.handle, kNvidiaMinor);
    find_limits(cl, device);
    // Queues beside each other move bytes while kernels run: on threads of the CPU (PoCL), by engines for copies (NVIDIA, AMD). Of others
    // it is not known.
    if (device.kind == BP_KIND_CPU || device.nvidia || device.says_free) device.copy_queues = 2;
    device.build_options = "-cl-std=CL1.2 -w";
    const auto floats = get<cl_device_fp_config>(cl, device.handle, CL_DEVICE_SINGLE_FP_CONFIG);
    if ((floats & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT) != 0)
        device.build_options += " -cl-fp32-correctly-rounded-divide-sqrt -DEXACT_DIVISION";
    if (device.nvidia) device.build_options += " -cl-nv-verbose";  // for machine_code.hpp
    if (device.kind == BP_KIND_CPU) device.build_options += " -DSOFTWARE";
    device.named_once = device.nvidia || device.kind == BP_KIND_CPU;
    if (device.named_once) device.build_options += " -DNAMED_ONCE";
    const int number = version_of(version);
    device.features = "opencl-" + std::to_string(number / 100) + "." + std::to_string(number / 10 % 10);
    for (const auto& [there, name] :
         {std::pair(names(extensions, "cl_khr_fp16"), " fp16"),
          std::pair(names(extensions, "cl_khr_subgroups"), " subgroups"),
          std::pair(device.can.matrix_tiles, " matrix-units"), std::pair(device.can.warpgroup_products, " warpgroups"),
          std::pair(device.can.import, " host-pointers")})
        if (there) device.features += name;

    uint64_t code = hash_of(device.driver.data(), device.driver.size());
    for (const std::string& text :
         {platform_text(cl, device.platform, CL_PLATFORM_VERSION), version, device.name, device.build_options})
        code = hash_of(text.data(), text.size(), code);
    device.fingerprint = code;
    return missing(cl, device, version);
}

// GPUs before CPUs, whatever the order of the platforms.
auto rank_of(uint32_t kind) {
    constexpr uint32_t kOrder[] = {BP_KIND_DISCRETE, BP_KIND_INTEGRATED, BP_KIND_ACCELERATOR, BP_KIND_CPU};
    return std::find(std::begin(kOrder), std::end(kOrder), kind) - std::begin(kOrder);
}

// Variables by which drivers leave devices out; empty: none is set.
std::string hidden_by() {
    const std::string out = backend::variables(
        {"POCL_DEVICES", "CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", "ZE_AFFINITY_MASK"});
    return out.empty() ? out : "the driver may leave devices out because of " + out;
}

}  // namespace

Instance::Instance() {
    void* loader = backend::open_loader("OpenCL", kLoaderName, "clGetPlatformIDs", kLoaderAdvice, why_);
    if (loader == nullptr) return;
    Functions& cl = functions_;
#define BP_CL_FIND(name)                                                                       \
    cl.name = reinterpret_cast<decltype(cl.name)>(backend::find_function(loader, "cl" #name)); \
    if (cl.name == nullptr && why_.empty())                                                    \
        why_ = std::string(kLoaderName) + " has no cl" #name ": OpenCL 1.2 is needed; update it";
    BP_CL_FUNCTIONS(BP_CL_FIND)
#undef BP_CL_FIND
    if (!why_.empty()) return;
    cl_uint count = 0;
    cl_int result = cl.GetPlatformIDs(0, nullptr, &count);
    std::vector<cl_platform_id> platforms(count);
    if (result == CL_SUCCESS && count != 0) result = cl.GetPlatformIDs(count, platforms.data(), nullptr);
    if (result != CL_SUCCESS || count == 0) {
        why_ = result == CL_SUCCESS || result == CL_PLATFORM_NOT_FOUND_KHR
                   ? why_no_platform()
                   : "asking the OpenCL loader for its platforms failed with " + name_of(result) + "; see the driver's log";
        return;
    }
    for (cl_platform_id platform : platforms) list(platform);
    std::stable_sort(devices_.begin(), devices_.end(),
                     [](const auto& a, const auto& b) { return rank_of(a.kind) < rank_of(b.kind); });
    gpu::give_ids(devices_);
    if (!devices_.empty()) why_ = broken_drivers();
}

void Instance::list(cl_platform_id platform) {
    const Functions& cl = functions();
    const auto note = [&](const std::string& text) { why_ += (why_.empty() ? "" : "; ") + text; };
    const std::string name = "platform " + platform_text(cl, platform, CL_PLATFORM_NAME);
    cl_uint count = 0;
    cl_int result = cl.GetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count);
    std::vector<cl_device_id> handles(count);
    if (result == CL_SUCCESS && count != 0)
        result = cl.GetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, handles.data(), nullptr);
    if (result == CL_DEVICE_NOT_FOUND || (result == CL_SUCCESS && count == 0)) {
        const std::string hidden = hidden_by();
        const std::string reason = hidden.empty() ? backend::why_no_device_file() : hidden + "; unset the variable";
        return note(name + " has no device" + (reason.empty() ? "" : ": " + reason));
    }
    if (result != CL_SUCCESS)
        return note(name + " does not list its devices (" + name_of(result) + "); see the driver's log");
    for (cl_device_id handle : handles) {
        PhysicalDevice device;
        device.platform = platform;
        device.handle = handle;
        if (const std::string fault = describe(cl, device); !fault.empty()) {
            note(device.name + " of " + name + " is left out: " + fault);
            continue;
        }
        devices_.push_back(std::move(device));
    }
}

uint64_t Instance::free_bytes(const PhysicalDevice& device) const {
    constexpr cl_device_info kAmdFreeMemory = 0x4039;  // in KiB: the total, and the largest block
    size_t free[2] = {};
    if (!device.says_free ||
        functions().GetDeviceInfo(device.handle, kAmdFreeMemory, sizeof free, free, nullptr) != CL_SUCCESS)
        return 0;
    return std::max(uint64_t{free[0]} * 1024, uint64_t{1});
}

}  // namespace backplane::opencl
