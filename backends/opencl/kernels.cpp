// Kernels of a device: programs by kernel and constants, and what of them is worth keeping.
#include <algorithm>

#include "carried.hpp"
#include "common/gpu/kernel_table.hpp"
#include "device.hpp"
#include "ptx.hpp"
#include "warpgroups.hpp"

namespace backplane::opencl {

namespace {

constexpr size_t kMostConstants = 12;  // LOCAL among them

// Few enough that two workgroups fit on a multiprocessor of 65536, or the one that fills it by itself.
std::string registers_for(uint32_t kernel, uint32_t invocations) {
    constexpr uint32_t kMost = 255;
    const uint32_t groups = gpu::in_parts(kernel) ? 1 : 2;
    return " -cl-nv-maxrregcount=" + std::to_string(std::min(kMost, 65536 / groups / invocations));
}

std::string options_of(const PhysicalDevice& device, uint32_t kernel, std::span<const uint32_t> constants) {
    std::string out = device.build_options + kKernels[kernel].definitions;
    for (size_t i = 0; i < kMostConstants; ++i)
        out += (i == 0 ? " -DLOCAL=" : " -DC" + std::to_string(i) + "=") +
               std::to_string(i < constants.size() ? constants[i] : 0);
    if (device.assembly()) out += " -DNVIDIA_ASSEMBLY";
    if (gpu::on_matrix_units(kernel) && device.assembly()) out += registers_for(kernel, constants[0]);
    return out;
}

std::string build_log(const Device& device, cl_program program) {
    return answer_of([&](auto... room) {
        return device.cl.GetProgramBuildInfo(program, device.physical.handle, CL_PROGRAM_BUILD_LOG, room...);
    });
}

std::vector<std::byte> binary_of(const Device& device, cl_program program) {
    size_t size = 0;
    if (device.cl.GetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, nullptr) != CL_SUCCESS) return {};
    std::vector<std::byte> bytes(size);
    auto* at = reinterpret_cast<unsigned char*>(bytes.data());
    if (size == 0 || device.cl.GetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof at, &at, nullptr) != CL_SUCCESS)
        return {};
    return bytes;
}

std::string said_by_compiler(const Device& device, cl_program program) {
    constexpr size_t kMostLog = 600;
    std::string log = build_log(device, program).substr(0, kMostLog);
    std::replace(log.begin(), log.end(), '\n', ' ');
    return ": the driver's compiler says: " + log;
}

}  // namespace

Handle<cl_program> program_of(const Device& device, uint32_t kernel, const char* entry, const std::string& options,
                              std::span<const std::byte> binary) {
    const std::string attempted = std::string("load kernel ") + kKernels[kernel].name + " on " + device.physical.name;
    cl_int status = CL_SUCCESS;
    cl_int result = CL_SUCCESS;
    const size_t size = binary.size();
    const auto* data = reinterpret_cast<const unsigned char*>(binary.data());
    Handle<cl_program> loaded{
        device.cl.CreateProgramWithBinary(device.context.get(), 1, &device.physical.handle, &size, &data, &status, &result),
        device.cl.ReleaseProgram};
    check(result != CL_SUCCESS ? result : status, attempted);
    result = device.cl.BuildProgram(loaded.get(), 1, &device.physical.handle, options.c_str(), nullptr, nullptr);
    if (result != CL_SUCCESS) throw sdk::Failure(BP_UNSUPPORTED, attempted + said_by_compiler(device, loaded.get()), result);
    const Handle<cl_kernel> trial{device.cl.CreateKernel(loaded.get(), entry, &result), device.cl.ReleaseKernel};
    check(result, attempted);
    return loaded;
}

Handle<cl_program> from_binary(const Device& device, uint32_t kernel, const char* entry, const std::string& options,
                               std::span<const std::byte> binary) {
    try {
        return program_of(device, kernel, entry, options, binary);
    } catch (const sdk::Failure&) {
        return {};
    }
}

namespace {

Handle<cl_program> compile(const Device& device, uint32_t kernel, const std::string& options) {
    const std::string attempted = std::string("build kernel ") + kKernels[kernel].name + " on " + device.physical.name;
    cl_int result = CL_SUCCESS;
    const auto* text = static_cast<const char*>(kKernels[kernel].code);
    Handle<cl_program> made{device.cl.CreateProgramWithSource(device.context.get(), 1, &text, nullptr, &result),
                            device.cl.ReleaseProgram};
    check(result, attempted);
    result = device.cl.BuildProgram(made.get(), 1, &device.physical.handle, options.c_str(), nullptr, nullptr);
    if (result == CL_BUILD_PROGRAM_FAILURE)
        throw sdk::Failure(BP_UNSUPPORTED, attempted + " (" + options + ")" + said_by_compiler(device, made.get()), result);
    check(result, attempted);
    return made;
}

// Machine code of a program whose binary is PTX; empty: there is none to be had, or none that the driver takes.
std::vector<std::byte> machine_code_of(Device& device, const Kernel& kernel, std::span<const std::byte> binary) {
    // The linker's code for the kernel in assembly is up to an eighth slower than the OpenCL driver's (docs/kernel-cache.md).
    if (!device.physical.nvidia || gpu::on_matrix_units(kernel.id)) return {};
    const uint32_t registers = registers_in(build_log(device, kernel.program.get()));
    if (registers == 0 || !is_ptx(binary)) return {};
    std::shared_ptr<const MachineCode> maker;
    {
        const std::lock_guard lock(device.code_mutex);
        if (device.machine_code == nullptr) device.machine_code = MachineCode::open(device.physical);
        maker = device.machine_code;
    }
    std::vector<std::byte> code = maker != nullptr ? maker->of(binary, registers) : std::vector<std::byte>{};
    if (!code.empty() && !from_binary(device, kernel.id, kernel.entry, kernel.options, code)) code.clear();
    return code;
}

}  // namespace

// The host vouches for the bytes: drivers do not look at them closely.
Kernel Api::build(Device& device, uint32_t kernel, std::span<const uint32_t> constants, std::span<const std::byte> binary) {
    if (kKernels[kernel].code == nullptr) return build_warpgroups(device, kernel, constants);
    Kernel built = carried(device, kernel, constants);
    if (built.program) return built;
    built.id = kernel;
    built.entry = kKernels[kernel].entry;
    built.named_once = device.physical.named_once;
    built.options = options_of(device.physical, kernel, constants);
    if (!binary.empty()) built.program = from_binary(device, kernel, built.entry, built.options, binary);
    if (built.program) {
        built.origin = gpu::Origin::binary;
        // Of PTX there was no machine code to be had when it was kept.
        built.kept = !is_ptx(binary);
        return built;
    }
    built.program = compile(device, kernel, built.options);
    if (!binary.empty()) built.origin = gpu::Origin::refused;
    return built;
}

std::vector<std::byte> Api::binary(Device& device, Kernel& kernel, bool ran) {
    // Drivers for CPUs (PoCL) make machine code for a workgroup at its first run; only then is it in the binary.
    if (kernel.kept || ran != device.physical.can.software) return {};
    kernel.kept = true;
    std::vector<std::byte> binary = binary_of(device, kernel.program.get());
    if (std::vector<std::byte> code = machine_code_of(device, kernel, binary); !code.empty()) return code;
    return kernel.origin == gpu::Origin::binary ? std::vector<std::byte>{} : binary;
}

void Api::built(Device& device) {
    const std::lock_guard lock(device.code_mutex);
    device.machine_code.reset();
}

}  // namespace backplane::opencl
