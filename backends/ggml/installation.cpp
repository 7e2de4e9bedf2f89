#include "installation.hpp"

#include "backplane/sdk.hpp"
#include "variants.hpp"

namespace backplane::ggml {

namespace {

std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
    return text;
}

// Modules lie beside the library, or (as ggml installs them) in bin/ while the library is in lib/.
fs::path folder_of_modules(const fs::path& named, const fs::path& base) {
    const fs::path beside = base.parent_path();
    for (const fs::path& folder : {named, beside, named / "bin", beside.parent_path() / "bin", beside / "ggml"}) {
        std::error_code error;
        for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
            if (is_module_name(entry.path().filename().string())) return folder;
    }
    return named;
}

}  // namespace

Installation::Installation(std::span<const fs::path> folders, const std::string& cpu_mask, const Notebook& notebook,
                           const Ears& ears) {
    std::string looked;
    fs::path base;
    fs::path modules;
    for (const fs::path& folder : folders) {
        looked += (looked.empty() ? "" : ", ") + folder.string();
        if (!base.empty()) continue;
        base = find_base_library(folder);
        if (base.empty()) base = find_base_library(folder / "bin");  // `folder` holds bin/ and lib/
        if (!base.empty()) modules = folder_of_modules(folder, base);
    }
    if (base.empty())
        throw sdk::Failure(BP_NOT_FOUND, "no ggml here: no " + base_library_name() + " in " + looked +
                                             "; the option ggml.path names the folder of one");
    base_ = std::make_unique<BaseLibrary>(base, ears);
    Variants variants(modules, base_->file(), cpu_mask, notebook, notes_);
    for (const std::string& kind : variants.kinds())
        while (Variant* best = variants.best(kind)) {
            try {
                take(*best, cpu_mask);
                break;
            } catch (const std::exception& e) {
                notes_.push_back(best->file.filename().string() + ": " + e.what());
                variants.drop_best(kind);
            }
        }
}

void Installation::take(Variant& variant, const std::string& cpu_mask) {
    const auto init = reinterpret_cast<ModuleInit>(variant.library.symbol("ggml_backend_init"));
    Registration* registration = init();
    variant.library.keep();  // it may have started threads
    if (registration == nullptr) throw sdk::Failure(BP_UNSUPPORTED, "it found nothing it can use");
    std::vector<FoundDevice> all = check_module(*base_, registration, variant.file).devices;
    if (all.empty()) throw sdk::Failure(BP_NOT_FOUND, "it has 0 devices");
    const std::vector<std::string> features = cpu_features_of(*base_, registration);
    if (const std::string feature = forbidden(features, cpu_mask); !feature.empty())
        throw sdk::Failure(BP_DENIED, "it uses " + feature + ", which host.cpu-mask forbids");
    for (FoundDevice& found : all) {
        found.module = variant.file.filename().string();
        found.features = joined(features);
        devices_.push_back(std::move(found));
    }
}

}  // namespace backplane::ggml
