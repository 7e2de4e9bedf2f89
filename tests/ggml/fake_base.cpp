// As much of a libggml-base as a registry calls, under the name that ggml's own build gives it: libggml-base.so.0, and no other.
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using Any = void (*)();

// The start of the tables, as facts: an API number or functions.
struct Device {
    Any functions[15];
    void* registration;
};
struct Registration {
    int api;
    const char* (*name)(void*);
    size_t (*count)(void*);
    void* (*device)(void*, size_t);
};

Device& device_of(void* d) { return *static_cast<Device*>(d); }
Registration& registration_of(void* r) { return *static_cast<Registration*>(r); }

}  // namespace

EXPORT const char* ggml_backend_reg_name(void* r) { return registration_of(r).name(r); }
EXPORT size_t ggml_backend_reg_dev_count(void* r) { return registration_of(r).count(r); }
EXPORT void* ggml_backend_reg_dev_get(void* r, size_t i) { return registration_of(r).device(r, i); }
EXPORT void* ggml_backend_dev_backend_reg(void* d) { return device_of(d).registration; }
EXPORT const char* ggml_backend_dev_name(void* d) {
    return reinterpret_cast<const char* (*)(void*)>(device_of(d).functions[0])(d);
}
EXPORT int32_t ggml_backend_dev_type(void* d) { return reinterpret_cast<int32_t (*)(void*)>(device_of(d).functions[3])(d); }
EXPORT void* ggml_backend_dev_init(void* d, const char* text) {
    return reinterpret_cast<void* (*)(void*, const char*)>(device_of(d).functions[5])(d, text);
}
EXPORT void ggml_log_internal(int32_t, const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    std::vfprintf(stderr, format, arguments);
    va_end(arguments);
}
