#include "instance.hpp"

#include <algorithm>

#include "common/platform/registrations.hpp"
#include "common/platform/system.hpp"
#include "platform/driver_library.hpp"

namespace backplane::cuda {

namespace {

constexpr uint32_t kOldest = 75;                          // what the kernels ask for
constexpr uint32_t kSharedBytesOfWarpgroups = 227 << 10;  // which instances.cmake counts on

int ask(const Driver& cu, DeviceNumber device, int what) {
    int value = 0;
    return cu.device_attribute(&value, what, device) == kSuccess ? value : 0;
}

// 13020 -> "13.2"
std::string version_text(uint32_t version) {
    return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

// Variables by which the driver leaves devices out, with what to do; "": none is set.
std::string hidden_by() {
    const std::string set = backend::variables({"CUDA_VISIBLE_DEVICES"});
    if (!set.empty()) return set + " leaves out what it does not name; unset it or name a device";
    return {};
}

// Why the driver did not start, and what to do about it.
std::string why_not_started(const Driver& cu, Result result) {
    const std::string said = "NVIDIA's driver does not start: " + cu.words(result) + "; ";
    switch (result) {
        case kNoDevice: {
            const std::string hidden = hidden_by();
            if (!hidden.empty()) return said + hidden;
            const std::string files = backend::why_no_device_file();
            return said + (files.empty() ? "see that the kernel's driver is loaded (nvidia-smi)" : files);
        }
        case kStubLibrary:
            return said +
                   "the library that was found is the toolkit's stub: take its folder out of LD_LIBRARY_PATH, or install "
                   "NVIDIA's driver";
        case kSystemDriverMismatch:
            return said + "the library and the driver in the kernel" +
                   (kernel_driver_version().empty() ? std::string() : " (" + kernel_driver_version() + ")") +
                   " are of two versions: restart the machine, or start the container anew";
        case kCompatNotSupported:
            return said +
                   "the library is that of a cuda-compat package, which this card does not take: remove the package or take "
                   "its folder out of LD_LIBRARY_PATH";
        case kSystemNotReady: return said + "start nvidia-fabricmanager";
        case kMpsConnectionFailed: return said + "start the MPS daemon, or unset CUDA_MPS_PIPE_DIRECTORY";
        case kNotPermitted:
        case kUnknown:
            return said + "often /dev/nvidia-uvm is missing: run nvidia-modprobe -u as root, or restart the machine";
        default: return said + "see the system's log, and whether nvidia-smi works";
    }
}

// "": its kernels run here. Machine code of a compiler runs on drivers of its major version and later ones, PTX on drivers that are no older.
std::string missing(const PhysicalDevice& device, uint32_t capability, uint32_t driver) {
    const std::string own =
        "it has compute capability " + std::to_string(capability / 10) + "." + std::to_string(capability % 10);
    if (capability < kOldest) return own + ", 7.5 is needed";
    if (kArchitectureCount != 0 && capability < kArchitectures[0])
        return own + ", the module was built for " + std::to_string(kArchitectures[0] / 10) + "." +
               std::to_string(kArchitectures[0] % 10) + " and later; install one that was built for it";
    if (device.compiles && driver < kToolkit)
        return own + ", for which the driver would have to compile the module's kernels, and it is older (CUDA " +
               version_text(driver) + ") than their compiler (" + version_text(kToolkit) + "); update the driver";
    if (device.can.most_invocations < 256 || device.can.shared_bytes < 49152) return "its workgroups are too small";
    return {};
}

bool is_compiled_for(uint32_t capability) {
    return std::any_of(kArchitectures, kArchitectures + kArchitectureCount, [&](uint32_t architecture) {
        return architecture / 10 == capability / 10 && architecture % 10 <= capability % 10;
    });
}

void find_limits(PhysicalDevice& device, uint32_t capability, uint32_t shared, uint32_t at_most, uint32_t threads) {
    Abilities& can = device.can;
    can.halves = can.bytes = can.longs = can.doubles = true;
    can.unified = false;  // what is allocated is not the host's to see, on integrated devices either
    can.storage_alignment = 256;
    can.most_allocation = can.most_range = device.memory_total;
    can.most_invocations = threads;
    can.shared_bytes = std::max(shared, at_most);  // what is more than `shared` has to be asked for at each kernel
    can.warpgroups = kHasWarpgroups && capability == 90 && at_most >= kSharedBytesOfWarpgroups;
    can.subgroup = 32;
    can.patches = true;
    can.few_kernels = true;
    can.matrix_tiles = capability >= 80;
    can.attention_matrix = capability >= 80 && can.shared_bytes >= 65536;
    can.float_parts = capability >= 80 && can.shared_bytes >= 101376 ? 64 : 0;
}

// Fills all of `device` but its number. Empty, or why its kernels would not run.
std::string describe(const Driver& cu, PhysicalDevice& device, uint32_t driver, const std::string& kernel_driver) {
    char name[256] = {};
    cu.device_name(name, sizeof name, device.number);
    device.name = name;
    const auto number = [&](int what) { return static_cast<uint32_t>(ask(cu, device.number, what)); };
    const uint32_t capability = number(kMajor) * 10 + number(kMinor);
    size_t memory = 0;
    cu.device_memory(&memory, device.number);
    device.memory_total = memory;
    device.memory_source = "cuMemGetInfo, while it is open";
    device.driver = "NVIDIA " + (kernel_driver.empty() ? "" : kernel_driver + ", ") + "CUDA " + version_text(driver);
    device.kind = number(kIntegrated) != 0 ? BP_KIND_INTEGRATED : BP_KIND_DISCRETE;
    device.vendor = 0x10de;
    device.units = number(kUnits);
    device.copy_queues = 2;
    device.peers = true;
    device.pci[0] = number(kPciDomain), device.pci[1] = number(kPciBus), device.pci[2] = number(kPciDevice);
    device.pci_known = device.pci[1] != 0 || device.pci[2] != 0 || device.pci[0] != 0;
    Uuid uuid{};
    device.uuid_known = cu.device_uuid(&uuid, device.number) == kSuccess;
    std::copy_n(uuid.bytes, 16, device.uuid);
    find_limits(device, capability, number(kSharedBytes), number(kSharedBytesAtMost), number(kMostThreads));
    device.can.units = device.units;
    device.compiles = !is_compiled_for(capability);
    device.starts_early = capability >= 90 && !device.compiles;
    device.features = "sm_" + std::to_string(capability);
    if (device.can.matrix_tiles) device.features += " matrix-units";
    if (device.compiles) device.features += " compiled-by-the-driver";
    uint64_t code = hash_of(device.driver.data(), device.driver.size());
    code = hash_of(device.name.data(), device.name.size(), code);
    device.fingerprint = hash_of(&capability, sizeof capability, code);
    if (number(kComputeMode) == static_cast<uint32_t>(kComputeModeProhibited))
        return "its compute mode prohibits it; nvidia-smi -c DEFAULT changes that";
    return missing(device, capability, driver);
}

}  // namespace

size_t find_instance(const Image& image, std::span<const uint32_t> constants) {
    const auto fits = [&](const KernelInstance& instance) {
        for (size_t i = 0; i < std::size(instance.values); ++i)
            if ((instance.fixed >> i & 1) != 0 && instance.values[i] != (i < constants.size() ? constants[i] : 0))
                return false;
        return true;
    };
    return static_cast<size_t>(std::find_if(image.instances, image.instances + image.count, fits) - image.instances);
}

Instance::Instance() {
    if (!driver_.open(why_)) return;
    if (const Result result = driver_.init(0); result != kSuccess) {
        why_ = why_not_started(driver_, result);
        return;
    }
    int version = 0;
    int count = 0;
    driver_.driver_version(&version);
    const auto driver = static_cast<uint32_t>(version);
    if (driver / 1000 < kToolkit / 1000) {
        const std::string kernel = kernel_driver_version();
        why_ = "NVIDIA's driver" + (kernel.empty() ? "" : " " + kernel) + " is one of CUDA " + version_text(driver) +
               ", the module's kernels were compiled by CUDA " + version_text(kToolkit) + "; update the driver";
        return;
    }
    if (const Result result = driver_.device_count(&count); result != kSuccess || count == 0) {
        why_ = why_not_started(driver_, result == kSuccess ? Result{kNoDevice} : result);
        return;
    }
    const std::string kernel = kernel_driver_version();
    for (int i = 0; i < count; ++i) {
        PhysicalDevice device;
        if (driver_.device_get(&device.number, i) != kSuccess) continue;
        const std::string fault = describe(driver_, device, driver, kernel);
        if (fault.empty()) {
            devices_.push_back(std::move(device));
        } else {
            why_ += (why_.empty() ? "" : "; ") + device.name + " is left out: " + fault;
        }
    }
    gpu::give_ids(devices_);
}

uint64_t Instance::free_bytes(const PhysicalDevice& device) const {
    const Context context = *device.context;
    if (context == nullptr) return 0;
    const Current current(driver_, context);
    size_t free = 0;
    size_t total = 0;
    return driver_.memory_info(&free, &total) == kSuccess ? std::max<uint64_t>(free, 1) : 0;
}

}  // namespace backplane::cuda
