// Kernels of a device: programs by kernel and constants, and the host's cache of what the driver made of them.
#include <algorithm>
#include <cstring>

#include "device.hpp"
#include "kernels_embedded.h"

namespace backplane::opencl {

namespace {

std::string hexadecimal(uint64_t value) {
    std::string out(16, '0');
    for (size_t i = 16; i-- > 0; value >>= 4) out[i] = "0123456789abcdef"[value & 15];
    return out;
}

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
    return "opencl/programs/" + hexadecimal(device.fingerprint[0]) + "/" + hexadecimal(hash[0]) + hexadecimal(hash[1]);
}

}  // namespace

uint64_t hash_of_kernels() {
    uint64_t hash = hash_of("", 0);
    for (uint32_t i = 0; i < gpu::kKernelCount; ++i)
        if (kKernels[i].text != nullptr) hash = hash_of(kKernels[i].text, std::strlen(kKernels[i].text), hash);
    return hash;
}

cl_program Device::program(uint32_t kernel, const std::vector<uint32_t>& constants) {
    std::vector<uint32_t> key = {kernel};
    key.insert(key.end(), constants.begin(), constants.end());
    const std::lock_guard lock(program_mutex_);
    const auto found = programs_.find(key);
    if (found != programs_.end()) return found->second.get();
    if (kKernels[kernel].entry == nullptr)
        throw sdk::Failure(BP_INTERNAL,
                           std::string("build kernel ") + kKernels[kernel].name + ": this backend does not have it");
    Handle<cl_program> made = build(kernel, options_of(physical, kernel, constants));  // throws: nothing is kept
    return (programs_[key] = std::move(made)).get();
}

Handle<cl_kernel> Device::make_kernel(uint32_t kernel, const std::vector<uint32_t>& constants) {
    cl_int result = CL_SUCCESS;
    Handle<cl_kernel> made{cl.CreateKernel(program(kernel, constants), kKernels[kernel].entry, &result), cl.ReleaseKernel};
    check(result, std::string("make kernel ") + kKernels[kernel].name + " on " + physical.name);
    return made;
}

Handle<cl_program> Device::build(uint32_t kernel, const std::string& options) {
    if (!host.has_cache()) return compile(kernel, options);
    const std::string key = cache_key(physical, kernel, options);
    if (Handle<cl_program> cached = load(key, options, kKernels[kernel].entry)) {
        ++cache_hits_;
        return cached;
    }
    Handle<cl_program> made = compile(kernel, options);
    // Drivers for CPUs (PoCL) make machine code for a workgroup at its first run; only then is it in the binary.
    if (physical.can.software) {
        unsaved_.emplace_back(key, made.get());
    } else {
        remember(key, made.get());
    }
    return made;
}

void Device::remember_programs() {
    const std::lock_guard lock(program_mutex_);
    for (const auto& [key, program] : unsaved_) remember(key, program);
    unsaved_.clear();
}

// What the host remembers, if the driver still takes it. The host vouches for the bytes: drivers do not look at them closely.
Handle<cl_program> Device::load(const std::string& key, const std::string& options, const char* entry) {
    Handle<cl_program> made;
    bool refused = false;
    host.cached(key, [&](const bp_blob& blob) {
        refused = true;
        if (blob.size == 0 || blob.data == nullptr) return;
        const auto* bytes = static_cast<const unsigned char*>(blob.data);
        cl_int status = CL_SUCCESS;
        cl_int result = CL_SUCCESS;
        Handle<cl_program> loaded{
            cl.CreateProgramWithBinary(context.get(), 1, &physical.handle, &blob.size, &bytes, &status, &result),
            cl.ReleaseProgram};
        if (result != CL_SUCCESS || status != CL_SUCCESS) return;
        if (cl.BuildProgram(loaded.get(), 1, &physical.handle, options.c_str(), nullptr, nullptr) != CL_SUCCESS) return;
        const Handle<cl_kernel> trial{cl.CreateKernel(loaded.get(), entry, &result), cl.ReleaseKernel};
        if (result != CL_SUCCESS) return;
        refused = false;
        made = std::move(loaded);
    });
    if (refused) host.reject(key);
    return made;
}

Handle<cl_program> Device::compile(uint32_t kernel, const std::string& options) {
    const std::string attempted = std::string("build kernel ") + kKernels[kernel].name + " on " + physical.name;
    cl_int result = CL_SUCCESS;
    const char* text = kKernels[kernel].text;
    Handle<cl_program> made{cl.CreateProgramWithSource(context.get(), 1, &text, nullptr, &result), cl.ReleaseProgram};
    check(result, attempted);
    result = cl.BuildProgram(made.get(), 1, &physical.handle, options.c_str(), nullptr, nullptr);
    if (result == CL_BUILD_PROGRAM_FAILURE) {
        constexpr size_t kMostLog = 600;
        size_t size = 0;
        cl.GetProgramBuildInfo(made.get(), physical.handle, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size);
        std::string log(size, '\0');
        cl.GetProgramBuildInfo(made.get(), physical.handle, CL_PROGRAM_BUILD_LOG, size, log.data(), nullptr);
        log.resize(std::min(std::strlen(log.c_str()), kMostLog));
        std::replace(log.begin(), log.end(), '\n', ' ');
        throw sdk::Failure(BP_UNSUPPORTED, attempted + " (" + options + "): the driver's compiler says: " + log, result);
    }
    check(result, attempted);
    return made;
}

void Device::remember(const std::string& key, cl_program program) {
    size_t size = 0;
    if (cl.GetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, nullptr) != CL_SUCCESS || size == 0) return;
    std::vector<unsigned char> bytes(size);
    unsigned char* at = bytes.data();
    if (cl.GetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof at, &at, nullptr) != CL_SUCCESS) return;
    host.remember(key, {bytes.data(), size});
}

}  // namespace backplane::opencl
