#include "installation.hpp"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <map>

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

// Features a module says it uses, as the kernel names them: "avx2 fma avx512f".
std::string features_of(const BaseLibrary& base, Registration* registration) {
    const auto get =
        reinterpret_cast<GetFeatures>(base.backend_reg_get_proc_address(registration, "ggml_backend_get_features"));
    std::string text;
    if (get == nullptr) return text;
    for (const Feature* f = get(registration); f != nullptr && f->name != nullptr; ++f) {
        if (f->value == nullptr || std::string_view(f->value) == "0") continue;
        std::string name = lower(f->name);
        if (name == "avx512") name = "avx512f";
        text += (text.empty() ? "" : " ") + name;
    }
    return text;
}

// The first feature of `features` ("a b") that `mask` ("b,c") forbids; empty: none.
std::string forbidden(const std::string& features, const std::string& mask) {
    for (size_t at = 0; at < features.size();) {
        const size_t end = std::min(features.find(' ', at), features.size());
        const std::string one = features.substr(at, end - at);
        if ((',' + lower(mask) + ',').find(',' + one + ',') != std::string::npos) return one;
        at = end + 1;
    }
    return {};
}

std::map<std::string, std::vector<fs::path>> modules_by_kind(const fs::path& folder) {
    std::map<std::string, std::vector<fs::path>> kinds;
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
        const std::string name = entry.path().filename().string();
        if (is_module_name(name)) kinds[kind_of_module(name)].push_back(entry.path());
    }
    for (auto& [kind, files] : kinds) std::sort(files.begin(), files.end());
    return kinds;
}

}  // namespace

struct Installation::Variant {
    fs::path file;
    Library library;
    int score = 0;  // by the module itself; 0: not for this processor
};

Installation::Installation(std::span<const fs::path> folders, const std::string& cpu_mask) {
    std::string looked;
    fs::path folder;
    for (const fs::path& f : folders) {
        std::error_code error;
        looked += (looked.empty() ? "" : ", ") + f.string();
        if (folder.empty() && fs::exists(f / base_library_name(), error)) folder = f;
    }
    if (folder.empty())
        throw sdk::Failure(BP_NOT_FOUND, "no ggml: no " + base_library_name() + " in " + looked +
                                             "; set the option ggml.path to the folder that has one");
    base_ = std::make_unique<BaseLibrary>(folder);
    for (auto& [kind, files] : modules_by_kind(base_->file().parent_path())) open_best(std::move(files), cpu_mask);
}

void Installation::open_best(std::vector<fs::path> files, const std::string& cpu_mask) {
    std::vector<Variant> variants;
    for (const fs::path& link : files) {
        try {
            const fs::path file = fs::canonical(link);
            if (const std::string why = why_unloadable(file); !why.empty()) throw sdk::Failure(BP_CORRUPT, why);
            Variant variant{file, Library(file), 1};
            if (variant.library.symbol("ggml_backend_init") == nullptr)
                throw sdk::Failure(BP_INVALID, "it is no backend module: it has no ggml_backend_init");
            if (const auto score = reinterpret_cast<ModuleScore>(variant.library.symbol("ggml_backend_score")))
                variant.score = score();
            if (variant.score > 0) variants.push_back(std::move(variant));
        } catch (const std::exception& e) {
            notes_.push_back(link.filename().string() + ": " + e.what());
        }
    }
    std::stable_sort(variants.begin(), variants.end(), [](const Variant& a, const Variant& b) { return a.score > b.score; });
    for (Variant& variant : variants) {
        try {
            return take(variant, cpu_mask);
        } catch (const std::exception& e) {
            notes_.push_back(variant.file.filename().string() + ": " + e.what());
        }
    }
}

void Installation::take(Variant& variant, const std::string& cpu_mask) {
    const auto init = reinterpret_cast<ModuleInit>(variant.library.symbol("ggml_backend_init"));
    Registration* registration = init();
    variant.library.keep();  // it may have started threads
    if (registration == nullptr) throw sdk::Failure(BP_UNSUPPORTED, "it found nothing it can use");
    std::vector<FoundDevice> all = check_module(*base_, registration, variant.file);
    const std::string features = features_of(*base_, registration);
    if (const std::string feature = forbidden(features, cpu_mask); !feature.empty())
        throw sdk::Failure(BP_DENIED, "it uses " + feature + ", which host.cpu-mask forbids");
    for (FoundDevice& found : all) {
        found.module = variant.file.filename().string();
        found.features = features;
        devices_.push_back(std::move(found));
    }
}

std::vector<FoundDevice> check_module(const BaseLibrary& base, Registration* registration, const fs::path& file) {
    check_registration(registration, file);
    const size_t count = base.backend_reg_dev_count(registration);
    if (count == 0 || count > 256) throw sdk::Failure(BP_NOT_FOUND, "it has " + std::to_string(count) + " devices");
    std::vector<FoundDevice> all;
    for (size_t i = 0; i < count; ++i) {
        FoundDevice found;
        found.registration = registration;
        found.device = base.backend_reg_dev_get(registration, i);
        if (found.device == nullptr) throw sdk::Failure(BP_INTERNAL, "its device " + std::to_string(i) + " is null");
        check_device_table(base, found.device, registration);
        base.backend_dev_get_props(found.device, &found.props);
        if (found.props.name == nullptr) throw sdk::Failure(BP_INTERNAL, "its device " + std::to_string(i) + " has no name");
        if (found.props.type == kTypeCpu) {  // cheap to open, and the most frequent mixture of releases
            Backend* backend = base.backend_dev_init(found.device, nullptr);
            if (backend == nullptr) throw sdk::Failure(BP_INTERNAL, "its device does not open");
            check_backend_table(base, backend, found.device);
            base.backend_free(backend);
        }
        all.push_back(std::move(found));
    }
    return all;
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

}  // namespace backplane::ggml
