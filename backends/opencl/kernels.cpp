// Kernels of a device: programs by kernel and constants, and the host's cache of what the driver made of them.
#include <algorithm>
#include <cstring>

#include "device.hpp"
#include "kernels_embedded.h"
#include "ptx.hpp"

namespace backplane::opencl {

namespace {

constexpr size_t kMostConstants = 10;

// Few enough that two workgroups fit on a multiprocessor of 65536.
std::string registers_for(uint32_t invocations) {
    constexpr uint32_t kMost = 255;
    return " -cl-nv-maxrregcount=" + std::to_string(std::min(kMost, 65536 / 2 / invocations));
}

std::string options_of(const PhysicalDevice& device, uint32_t kernel, const std::vector<uint32_t>& constants) {
    std::string out = device.build_options + kKernels[kernel].options;
    for (size_t i = 0; i < kMostConstants; ++i)
        out += (i == 0 ? " -DLOCAL=" : " -DC" + std::to_string(i) + "=") +
               std::to_string(i < constants.size() ? constants[i] : 0);
    if (kernel == gpu::kKernel_conv_matrix_f16 && device.assembly) out += " -DNVIDIA_ASSEMBLY" + registers_for(constants[0]);
    return out;
}

// The driver, the device, the text and how it is built; two hashes, so that none of them comes upon another's entry.
std::string cache_key(const PhysicalDevice& device, uint32_t kernel, const std::string& options) {
    const char* text = kKernels[kernel].text;
    uint64_t hash[2] = {hash_of(text, std::strlen(text)), hash_of(text, std::strlen(text), 0x9ae16a3b2f90404fu)};
    for (uint64_t& h : hash) h = hash_of(options.data(), options.size(), h);
    return "opencl/programs/" + backend::hexadecimal(device.fingerprint[0]) + "/" + backend::hexadecimal(hash[0]) +
           backend::hexadecimal(hash[1]);
}

}  // namespace

uint64_t hash_of_kernels() {
    uint64_t hash = hash_of("", 0);
    for (uint32_t i = 0; i < gpu::kKernelCount; ++i)
        if (kKernels[i].text != nullptr) hash = hash_of(kKernels[i].text, std::strlen(kKernels[i].text), hash);
    return hash;
}

cl_program Device::program(uint32_t kernel, const std::vector<uint32_t>& constants) {
    if (kKernels[kernel].entry == nullptr)
        throw sdk::Failure(BP_INTERNAL,
                           std::string("build kernel ") + kKernels[kernel].name + ": this backend does not have it");
    return programs_
        .get(kernel, constants,
             [&] {
                 const std::string options = options_of(physical, kernel, constants);
                 return build({kernel, options, host.has_cache() ? cache_key(physical, kernel, options) : ""});
             })
        .get();
}

Handle<cl_kernel> Device::make_kernel(uint32_t kernel, const std::vector<uint32_t>& constants) {
    cl_int result = CL_SUCCESS;
    Handle<cl_kernel> made{cl.CreateKernel(program(kernel, constants), kKernels[kernel].entry, &result), cl.ReleaseKernel};
    check(result, std::string("make kernel ") + kKernels[kernel].name + " on " + physical.name);
    return made;
}

Handle<cl_program> Device::build(const Build& what) {
    if (what.key.empty()) return compile(what);
    if (Handle<cl_program> cached = load(what)) {
        ++cache_hits_;
        return cached;
    }
    Handle<cl_program> made = compile(what);
    // Drivers for CPUs (PoCL) make machine code for a workgroup at its first run; only then is it in the binary.
    if (physical.can.software) {
        const std::lock_guard lock(unsaved_mutex_);
        unsaved_.emplace_back(what.key, made.get());
    } else if (!remember_machine_code(what, made.get())) {
        remember(what.key, made.get());
    }
    return made;
}

std::shared_ptr<const MachineCode> Device::machine_code() {
    const std::lock_guard lock(code_mutex_);
    if (machine_code_ == nullptr) machine_code_ = MachineCode::open(physical);
    return machine_code_;
}

void Device::end_builds() {
    const std::lock_guard lock(code_mutex_);
    machine_code_.reset();
}

bool Device::remember_machine_code(const Build& what, cl_program program) {
    // The linker's code for the kernel in assembly is up to an eighth slower than the OpenCL driver's (docs/kernel-cache.md).
    if (!physical.nvidia || what.kernel == gpu::kKernel_conv_matrix_f16) return false;
    const std::vector<unsigned char> binary = binary_of(program);
    const uint32_t registers = registers_in(build_log(program));
    if (registers == 0 || !is_ptx(binary.data(), binary.size())) return false;
    const std::shared_ptr<const MachineCode> maker = machine_code();
    if (maker == nullptr) return false;
    const std::vector<unsigned char> code = maker->of(binary, registers);
    if (code.empty() || !from_binary(what, code.data(), code.size())) return false;
    host.remember(what.key, {code.data(), code.size()});
    return true;
}

void Device::remember_programs() {
    const std::lock_guard lock(unsaved_mutex_);
    for (const auto& [key, program] : unsaved_) remember(key, program);
    unsaved_.clear();
}

// What the host remembers, if the driver still takes it. The host vouches for the bytes: drivers do not look at them closely.
Handle<cl_program> Device::load(const Build& what) {
    Handle<cl_program> made;
    bool refused = false;
    bool ptx = false;
    host.cached(what.key, [&](const bp_blob& blob) {
        const auto* bytes = static_cast<const unsigned char*>(blob.data);
        if (blob.size != 0 && bytes != nullptr) made = from_binary(what, bytes, blob.size);
        refused = !made;
        ptx = made && is_ptx(bytes, blob.size);
    });
    if (refused) host.reject(what.key);
    if (ptx) remember_machine_code(what, made.get());  // there was none to be had when it was kept
    return made;
}

// A program that has the kernel; nothing when the driver does not take the bytes.
Handle<cl_program> Device::from_binary(const Build& what, const unsigned char* bytes, size_t size) {
    cl_int status = CL_SUCCESS;
    cl_int result = CL_SUCCESS;
    Handle<cl_program> loaded{
        cl.CreateProgramWithBinary(context.get(), 1, &physical.handle, &size, &bytes, &status, &result), cl.ReleaseProgram};
    if (result != CL_SUCCESS || status != CL_SUCCESS) return {};
    if (cl.BuildProgram(loaded.get(), 1, &physical.handle, what.options.c_str(), nullptr, nullptr) != CL_SUCCESS) return {};
    const Handle<cl_kernel> trial{cl.CreateKernel(loaded.get(), kKernels[what.kernel].entry, &result), cl.ReleaseKernel};
    if (result != CL_SUCCESS) return {};
    return loaded;
}

Handle<cl_program> Device::compile(const Build& what) {
    const std::string attempted = std::string("build kernel ") + kKernels[what.kernel].name + " on " + physical.name;
    cl_int result = CL_SUCCESS;
    const char* text = kKernels[what.kernel].text;
    Handle<cl_program> made{cl.CreateProgramWithSource(context.get(), 1, &text, nullptr, &result), cl.ReleaseProgram};
    check(result, attempted);
    result = cl.BuildProgram(made.get(), 1, &physical.handle, what.options.c_str(), nullptr, nullptr);
    if (result == CL_BUILD_PROGRAM_FAILURE) {
        constexpr size_t kMostLog = 600;
        std::string log = build_log(made.get()).substr(0, kMostLog);
        std::replace(log.begin(), log.end(), '\n', ' ');
        throw sdk::Failure(BP_UNSUPPORTED, attempted + " (" + what.options + "): the driver's compiler says: " + log,
                           result);
    }
    check(result, attempted);
    return made;
}

std::string Device::build_log(cl_program program) const {
    size_t size = 0;
    if (cl.GetProgramBuildInfo(program, physical.handle, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size) != CL_SUCCESS) return {};
    std::string log(size, '\0');
    cl.GetProgramBuildInfo(program, physical.handle, CL_PROGRAM_BUILD_LOG, size, log.data(), nullptr);
    log.resize(std::strlen(log.c_str()));
    return log;
}

void Device::remember(const std::string& key, cl_program program) {
    const std::vector<unsigned char> bytes = binary_of(program);
    if (!bytes.empty()) host.remember(key, {bytes.data(), bytes.size()});
}

std::vector<unsigned char> Device::binary_of(cl_program program) const {
    size_t size = 0;
    if (cl.GetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, nullptr) != CL_SUCCESS) return {};
    std::vector<unsigned char> bytes(size);
    unsigned char* at = bytes.data();
    if (size == 0 || cl.GetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof at, &at, nullptr) != CL_SUCCESS) return {};
    return bytes;
}

}  // namespace backplane::opencl
