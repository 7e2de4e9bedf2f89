// ggml's registry functions, under ggml's names: each a line over Registry. Nothing is thrown across.
#include "registry.hpp"

#define BP_GGML_EXPORT extern "C" __attribute__((visibility("default")))

using backplane::compat::Backend;
using backplane::compat::Device;
using backplane::compat::Registration;
using backplane::compat::Registry;

namespace {

template <typename Body>
auto safely(Body&& body) noexcept -> decltype(body()) {
    try {
        return body();
    } catch (...) {  // out of memory
        return decltype(body())();
    }
}

std::filesystem::path path_of(const char* text) {
    return text != nullptr ? std::filesystem::path(text) : std::filesystem::path();
}

}  // namespace

BP_GGML_EXPORT void ggml_backend_register(Registration* r) {
    safely([&] { Registry::instance().add(r); });
}
BP_GGML_EXPORT void ggml_backend_device_register(Device* d) {
    safely([&] { Registry::instance().add(d); });
}
BP_GGML_EXPORT Registration* ggml_backend_load(const char* path) {
    return safely([&] { return path != nullptr ? Registry::instance().load(path_of(path)) : nullptr; });
}
BP_GGML_EXPORT void ggml_backend_unload(Registration* r) {
    safely([&] { Registry::instance().unload(r); });
}
BP_GGML_EXPORT void ggml_backend_load_all() {
    safely([] { Registry::instance().load_all({}); });
}
BP_GGML_EXPORT void ggml_backend_load_all_from_path(const char* path) {
    safely([&] { Registry::instance().load_all(path_of(path)); });
}
BP_GGML_EXPORT size_t ggml_backend_reg_count() {
    return safely([] { return Registry::instance().registrations(); });
}
BP_GGML_EXPORT Registration* ggml_backend_reg_get(size_t index) {
    return safely([&] { return Registry::instance().registration(index); });
}
BP_GGML_EXPORT Registration* ggml_backend_reg_by_name(const char* name) {
    return safely([&] { return Registry::instance().registration(name); });
}
BP_GGML_EXPORT size_t ggml_backend_dev_count() {
    return safely([] { return Registry::instance().devices(); });
}
BP_GGML_EXPORT Device* ggml_backend_dev_get(size_t index) {
    return safely([&] { return Registry::instance().device(index); });
}
BP_GGML_EXPORT Device* ggml_backend_dev_by_name(const char* name) {
    return safely([&] { return Registry::instance().device(name); });
}
BP_GGML_EXPORT Device* ggml_backend_dev_by_type(int32_t type) {
    return safely([&] { return Registry::instance().device(type); });
}
BP_GGML_EXPORT Backend* ggml_backend_init_by_name(const char* name, const char* parameters) {
    return safely([&] { return Registry::instance().open(name, parameters); });
}
BP_GGML_EXPORT Backend* ggml_backend_init_by_type(int32_t type, const char* parameters) {
    return safely([&] { return Registry::instance().open(type, parameters); });
}
BP_GGML_EXPORT Backend* ggml_backend_init_best() {
    return safely([] { return Registry::instance().open_best(); });
}
