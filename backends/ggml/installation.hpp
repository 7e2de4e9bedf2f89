// A ggml installation: one folder with a libggml-base and backend modules that were built for it, judged and opened.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base_library.hpp"

namespace backplane::ggml {

// A device of an open module. Everything it points to lives until the process ends.
struct FoundDevice {
    Device* device = nullptr;
    Registration* registration = nullptr;
    DeviceProps props{};
    std::string module;    // "libggml-cpu-zen4.so"
    std::string features;  // "avx2 fma"
};

class Notebook;
struct Variant;

class Installation {
public:
    // Looks into `folders` in turn; the first that has a libggml-base counts. `cpu_mask`: features that must not be used,
    // "avx512f,avx2". Throws sdk::Failure when no folder has one, or the one found cannot be used. A module that cannot be used is
    // left out, with a line in notes(). Of each kind the best is opened, and the others only where neither `notebook` nor a sidecar
    // tells which that is.
    Installation(std::span<const fs::path> folders, const std::string& cpu_mask, const Notebook& notebook);

    [[nodiscard]] const BaseLibrary& base() const { return *base_; }
    [[nodiscard]] const std::vector<FoundDevice>& devices() const { return devices_; }
    [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

private:
    void take(Variant& variant, const std::string& cpu_mask);

    std::unique_ptr<const BaseLibrary> base_;
    std::vector<FoundDevice> devices_;
    std::vector<std::string> notes_;
};

// The devices of an initialised module, after all its tables were compared with what `base` expects. Throws sdk::Failure.
std::vector<FoundDevice> check_module(const BaseLibrary& base, Registration* registration, const fs::path& file);

// The processor's features that a module says it uses, as the kernel names them. Empty: it does not say.
std::vector<std::string> cpu_features_of(const BaseLibrary& base, Registration* registration);

// Throws sdk::Failure(BP_VERSION) unless the tables behind these handles have the shape that `base` expects.
void check_device_table(const BaseLibrary& base, Device* device, const Registration* registration);
void check_backend_table(const BaseLibrary& base, Backend* backend, const Device* device);
void check_buffer_table(const BaseLibrary& base, Buffer* buffer, const BufferType* type);

}  // namespace backplane::ggml
