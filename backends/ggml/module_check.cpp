#include "module_check.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <string_view>
#include <utility>

#include "backplane/sdk.hpp"

namespace backplane::ggml {

namespace {

[[noreturn]] void mismatch(const std::string& fact) {
    throw sdk::Failure(BP_VERSION, "it was not built for the libggml-base of its folder: " + fact);
}

const void* word(const void* table, int place) {
    const void* value = nullptr;
    std::memcpy(&value, static_cast<const char*>(table) + static_cast<size_t>(place) * sizeof(void*), sizeof value);
    return value;
}

void check_place(const void* table, int place, const void* wanted, const char* what) {
    if (word(table, place) != wanted)
        mismatch(std::string("its table of ") + what + " has another number of functions than the " + std::to_string(place) +
                 " places expected");
}

// The start of a registration: the API number, four functions, a context. All functions are the module's own, the last may be absent.
void check_registration(const Registration* registration, const fs::path& file) {
    int32_t api = 0;
    std::memcpy(&api, registration, sizeof api);
    if (api != kApiVersion)
        mismatch("its API number is " + std::to_string(api) + ", " + std::to_string(kApiVersion) + " is known");
    for (int place = 1; place <= 4; ++place) {
        const void* function = word(registration, place);
        if (function == nullptr && place == 4) continue;
        if (file_of(function) != file)
            mismatch("function " + std::to_string(place) + " of its registration is none of its own");
    }
}

std::string lower(std::string_view text) {
    std::string result(text);
    std::transform(result.begin(), result.end(), result.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return result;
}

// What ggml calls the features of processors, where the kernel calls them otherwise (/proc/cpuinfo, HWCAP).
constexpr std::array kKernelNames{
    std::pair{"sse3", "pni"},        std::pair{"avx512", "avx512f"},   std::pair{"avx512_vbmi", "avx512vbmi"},
    std::pair{"neon", "asimd"},      std::pair{"arm_fma", "asimd"},    std::pair{"fp16_va", "asimdhp"},
    std::pair{"dotprod", "asimddp"}, std::pair{"matmul_int8", "i8mm"},
};
// Words in its list that say how it was built and ask nothing of the processor.
constexpr std::array kNoFeatures{"llamafile", "openmp", "accelerate", "repack", "kleidiai", "sve_cnt"};

class BufferHandle {
public:
    BufferHandle(const BaseLibrary& base, Buffer* buffer) : base_(base), buffer_(buffer) {}
    ~BufferHandle() {
        if (buffer_ != nullptr) base_.backend_buffer_free(buffer_);
    }
    BufferHandle(const BufferHandle&) = delete;
    BufferHandle& operator=(const BufferHandle&) = delete;
    [[nodiscard]] Buffer* get() const { return buffer_; }

private:
    const BaseLibrary& base_;
    Buffer* buffer_;
};

// The last field of a tensor that anybody writes stands behind its name, whose length is a build option (GGML_MAX_NAME: 64, or 160 in
// stable-diffusion.cpp). Where the module is built to write it shows when a tensor comes into a buffer that keeps weights in an order of its
// own: there the module notes how. Where the base has it follows from the size of its tensor. A module that has no such buffers writes none.
// True: it wrote the field where the base has it.
bool check_tensor_length(const BaseLibrary& base, Registration* registration, Device* device) {
    using ExtraTypes = BufferType** (*)(Device*);
    constexpr size_t kRecord = 32;      // before each tensor in its context
    constexpr size_t kAfterExtra = 16;  // the field and the padding at the end
    constexpr int64_t kDepth = 256, kRows = 64;
    const auto types =
        reinterpret_cast<ExtraTypes>(base.backend_reg_get_proc_address(registration, "ggml_backend_dev_get_extra_bufts"));
    BufferType** all = types != nullptr ? types(device) : nullptr;
    bool seen = false;
    for (; all != nullptr && *all != nullptr; ++all) {
        const ContextHandle context(base, 16, 0);  // room behind the tensor for what is written in the wrong place
        Tensor* tensor = base.new_tensor_4d(context.get(), kQ4_0, kDepth, kRows, 1, 1);
        const BufferHandle buffer(base, base.backend_buft_alloc_buffer(*all, base.nbytes(tensor) * 4));
        if (buffer.get() == nullptr) continue;
        const size_t start = offsetof(Tensor, name) + 64;  // no name was shorter
        const size_t end = start + 512;
        // Not zeros: a module notes null where it keeps the weights as they are.
        const std::vector<char> before(end, '\x5a');
        std::memcpy(reinterpret_cast<char*>(tensor) + start, before.data() + start, end - start);
        if (base.backend_tensor_alloc(buffer.get(), tensor, base.backend_buffer_get_base(buffer.get())) != kSuccess)
            continue;
        const size_t expected = base.tensor_overhead() - kRecord - kAfterExtra;
        for (size_t at = start; at < end; at += sizeof(void*)) {
            if (std::memcmp(before.data() + at, reinterpret_cast<const char*>(tensor) + at, sizeof(void*)) == 0) continue;
            if (at != expected)
                mismatch("it writes the last field of a tensor at byte " + std::to_string(at) + ", the base has it at " +
                         std::to_string(expected) + " (built with another GGML_MAX_NAME)");
            seen = true;
        }
    }
    return seen;
}

}  // namespace

std::vector<std::string> cpu_features_of(const BaseLibrary& base, Registration* registration) {
    const auto get =
        reinterpret_cast<GetFeatures>(base.backend_reg_get_proc_address(registration, "ggml_backend_get_features"));
    std::vector<std::string> features;
    if (get == nullptr) return features;
    for (const Feature* f = get(registration); f != nullptr && f->name != nullptr; ++f) {
        if (f->value == nullptr || std::string_view(f->value) == "0") continue;
        std::string name = lower(f->name);
        if (std::find(kNoFeatures.begin(), kNoFeatures.end(), name) != kNoFeatures.end()) continue;
        for (const auto& [theirs, kernels] : kKernelNames)
            if (name == theirs) name = kernels;
        if (std::find(features.begin(), features.end(), name) == features.end()) features.push_back(std::move(name));
    }
    return features;
}

CheckedModule check_module(const BaseLibrary& base, Registration* registration, const fs::path& file,
                           const std::function<void(const std::string&)>& step) {
    check_registration(registration, file);
    const size_t count = base.backend_reg_dev_count(registration);
    if (count > 256) throw sdk::Failure(BP_NOT_FOUND, "it has " + std::to_string(count) + " devices");
    CheckedModule checked;
    for (size_t i = 0; i < count; ++i) {
        FoundDevice found;
        found.registration = registration;
        found.device = base.backend_reg_dev_get(registration, i);
        if (found.device == nullptr) throw sdk::Failure(BP_INTERNAL, "its device " + std::to_string(i) + " is null");
        check_device_table(base, found.device, registration);
        base.backend_dev_get_props(found.device, &found.props);
        if (found.props.name == nullptr) throw sdk::Failure(BP_INTERNAL, "its device " + std::to_string(i) + " has no name");
        if (found.props.type == kTypeCpu) {  // cheap to open, and the most frequent mixture of releases
            checked.proven = check_tensor_length(base, registration, found.device) || checked.proven;
            Backend* backend = base.backend_dev_init(found.device, nullptr);
            if (backend == nullptr) throw sdk::Failure(BP_INTERNAL, "its device does not open");
            check_backend_table(base, backend, found.device);
            checked.proven = check_op_numbers(base, found.device, backend, step) || checked.proven;
            base.backend_free(backend);
        }
        checked.devices.push_back(std::move(found));
    }
    return checked;
}

void check_device_table(const BaseLibrary& base, Device* device, const Registration* registration) {
    check_place(device, base.shape().device_to_registration, registration, "a device");
    const BufferType* type = base.backend_dev_buffer_type(device);
    if (type == nullptr) mismatch("its device has no buffers");
    // The type of plain host memory is the base's own and names no device.
    if (word(type, base.shape().buffer_type_to_device) != nullptr)
        check_place(type, base.shape().buffer_type_to_device, device, "a buffer type");
}

void check_backend_table(const BaseLibrary& base, Backend* backend, const Device* device) {
    check_place(backend, base.shape().backend_to_device, device, "a backend");
}

void check_buffer_table(const BaseLibrary& base, Buffer* buffer, const BufferType* type) {
    check_place(buffer, base.shape().buffer_to_type, type, "a buffer");
}

bool is_software(const DeviceProps& props) {
    constexpr std::string_view kNames[] = {"llvmpipe", "SwiftShader", "softpipe", "Microsoft Basic Render Driver"};
    const std::string_view text = props.description != nullptr ? props.description : "";
    return (props.type == kTypeGpu || props.type == kTypeIntegrated) &&
           std::any_of(std::begin(kNames), std::end(kNames),
                       [&](std::string_view name) { return text.find(name) != std::string_view::npos; });
}

}  // namespace backplane::ggml
