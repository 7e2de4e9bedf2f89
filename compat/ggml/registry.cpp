#include "registry.hpp"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <string_view>

#include "backplane/error.hpp"
#include "base/environment.hpp"
#include "platform/library.hpp"

namespace backplane::compat {

namespace {

namespace fs = std::filesystem;

bool alike(const char* a, const char* b) {
    if (a == nullptr || b == nullptr) return a == b;
    for (; *a != '\0' && std::tolower(static_cast<unsigned char>(*a)) == std::tolower(static_cast<unsigned char>(*b));
         ++a, ++b) {
    }
    return *a == '\0' && *b == '\0';
}

std::string upper(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    return text;
}

template <typename Function>
void take(Function& into, const base::DynamicLibrary& library, const char* name) {
    into = reinterpret_cast<Function>(library.symbol(name));
}

}  // namespace

// Never destroyed: applications call it from their own destructors.
Registry& Registry::instance() {
    static auto* const kOne = new Registry();
    return *kOne;
}

// The one that is mapped already serves every module; else the one beside this library or the program.
bool Registry::find_base() {
    if (base_.complete()) return true;
    const std::string name = ggml::base_library_name();
    std::vector<fs::path> places = ggml::mapped(name);
    for (const fs::path& folder : {own_folder(), base::executable_file().parent_path()}) places.push_back(folder / name);
    for (const fs::path& place : places) {
        const fs::path file = base::real_path(place);
        if (file.empty()) continue;
        try {
            base::DynamicLibrary library(file);
            BaseFunctions f;
            f.file = file;
            take(f.registration_name, library, "ggml_backend_reg_name");
            take(f.device_count, library, "ggml_backend_reg_dev_count");
            take(f.device_at, library, "ggml_backend_reg_dev_get");
            take(f.registration_of, library, "ggml_backend_dev_backend_reg");
            take(f.device_name, library, "ggml_backend_dev_name");
            take(f.device_type, library, "ggml_backend_dev_type");
            take(f.log, library, "ggml_log_internal");
            if (f.registration_name == nullptr || f.device_count == nullptr || f.device_at == nullptr ||
                f.registration_of == nullptr || f.device_name == nullptr || f.device_type == nullptr)
                continue;
            take(f.open, library, "ggml_backend_dev_init");
            if (f.open == nullptr) continue;
            base_ = f;
            base_library_ = std::move(library);
            search_.base = file;
            search_.probe = find_probe();
            search_.state = state_folder();
            search_.prefix = BACKPLANE_GGML_PREFIX;
            if (search_.probe.empty())
                say("there is no backplane-probe-ggml beside this library: modules are not tried before they are loaded");
            return true;
        } catch (const Error&) {
            continue;
        }
    }
    return false;
}

void Registry::say(const std::string& text) {
    if (base_.log != nullptr && said_.insert(text).second) base_.log(ggml::kLogWarn, "backplane-ggml: %s\n", text.c_str());
}

void Registry::add_locked(Registration* registration) {
    if (registration == nullptr ||
        std::find(registrations_.begin(), registrations_.end(), registration) != registrations_.end())
        return;
    registrations_.push_back(registration);
    const size_t count = base_.device_count(registration);
    for (size_t i = 0; i < count; ++i)
        if (Device* device = base_.device_at(registration, i)) add(device);
}

void Registry::add(Registration* registration) {
    const std::lock_guard lock(mutex_);
    if (find_base()) add_locked(registration);
}

// In order of arrival, but discrete before integrated.
void Registry::add(Device* device) {
    const std::lock_guard lock(mutex_);
    if (device == nullptr || !find_base() || std::find(devices_.begin(), devices_.end(), device) != devices_.end()) return;
    auto place = devices_.end();
    if (base_.device_type(device) == ggml::kTypeGpu)
        place = std::find_if(devices_.begin(), devices_.end(),
                             [&](Device* d) { return base_.device_type(d) == ggml::kTypeIntegrated; });
    devices_.insert(place, device);
}

bool Registry::listed(const char* name) {
    return std::any_of(registrations_.begin(), registrations_.end(),
                       [&](Registration* r) { return alike(base_.registration_name(r), name); });
}

// May be asked for what is loaded already: a module answers for its file once, whatever path it is found under.
Registration* Registry::load_locked(const fs::path& path, bool ask_score) {
    const fs::path file = base::real_path(path);
    const base::FileStatus status = base::status_of(file);
    for (const Loaded& known : loaded_)
        if (known.volume == status.volume && known.number == status.number) {
            add_locked(known.registration);
            return known.registration;
        }
    const std::string what = "cannot use " + path.string() + ": ";
    try {
        base::DynamicLibrary library(file);
        const auto init = reinterpret_cast<ggml::ModuleInit>(library.symbol("ggml_backend_init"));
        if (init == nullptr) return say(what + "it has no ggml_backend_init"), nullptr;
        // What somebody wrote down may be wrong; it knows itself what it was built for. A trial here has asked it already, and asking again
        // costs as much as loading does where each question to the processor is a trap.
        if (ask_score)
            if (const auto score = reinterpret_cast<ggml::ModuleScore>(library.symbol("ggml_backend_score")))
                if (score() == 0)
                    return say(what + "its sidecar is wrong: it says itself that it is not for this processor"), nullptr;
        Registration* registration = init();
        library.keep();  // pointers into it may be anywhere
        if (registration == nullptr) return say(what + "it found nothing it can use"), nullptr;
        int32_t api = 0;
        std::memcpy(&api, registration, sizeof api);
        if (api != ggml::kApiVersion) return say(what + "its API number is " + std::to_string(api)), nullptr;
        const size_t count = base_.device_count(registration);
        for (size_t i = 0; i < count; ++i)
            if (base_.device_at(registration, i) == nullptr)
                return say(what + "its device " + std::to_string(i) + " is null"), nullptr;
        const bool known = std::find(registrations_.begin(), registrations_.end(), registration) != registrations_.end();
        if (!known && listed(base_.registration_name(registration)))
            return say(what + "there is a backend " + base_.registration_name(registration) + " already"), nullptr;
        loaded_.push_back({status.volume, status.number, registration});
        add_locked(registration);
        return registration;
    } catch (const std::exception& error) {
        say(what + error.what());
    } catch (...) {
        say(what + "something was thrown out of it");
    }
    return nullptr;
}

Registration* Registry::load(const fs::path& path) {
    const std::lock_guard lock(mutex_);
    if (!find_base()) return nullptr;
    std::error_code error;
    const fs::path file = fs::absolute(path, error);
    const bool known = std::any_of(loaded_.begin(), loaded_.end(), [&, s = base::status_of(file)](const Loaded& l) {
        return l.volume == s.volume && l.number == s.number;
    });
    if (!known)
        if (const std::string why = why_not(file, search_); !why.empty())
            return say("cannot use " + file.string() + ": " + why), nullptr;
    return load_locked(file, true);
}

void Registry::load_from(const fs::path& folder) {
    const Choice choice = choose(folder, search_);
    for (const std::string& refusal : choice.refusals) say(refusal);
    for (const Kind& kind : choice.kinds) {
        if (base::environment(("GGML_DISABLE_" + upper(kind.name)).c_str())) continue;
        // Kinds carry the name of their registration; a host that linked one in, or loaded it before, has it.
        if (listed(kind.name.c_str())) continue;
        for (const Usable& module : kind.usable)
            if (load_locked(module.path, module.by_sidecar) != nullptr) break;
    }
}

void Registry::load_all(const fs::path& folder) {
    const std::lock_guard lock(mutex_);
    if (!find_base()) return;
    if (!folder.empty()) {
        std::error_code error;
        load_from(fs::absolute(folder, error));
    } else {
        const fs::path own = own_folder();
        const fs::path program = base::executable_file().parent_path();
        load_from(own);
        if (program != own && !program.empty()) load_from(program);
    }
    if (const auto extra = base::environment("GGML_BACKEND_PATH")) load(*extra);
    if (devices_.empty())
        say("no device: no usable " + search_.prefix + "*" + std::string(base::library_ending()) + " in " +
            (folder.empty() ? own_folder() : folder).string());
}

// It leaves the lists and stays mapped: pointers to it may be kept anywhere.
void Registry::unload(Registration* registration) {
    const std::lock_guard lock(mutex_);
    if (registration == nullptr || !find_base()) return;
    devices_.erase(std::remove_if(devices_.begin(), devices_.end(),
                                  [&](Device* d) { return base_.registration_of(d) == registration; }),
                   devices_.end());
    registrations_.erase(std::remove(registrations_.begin(), registrations_.end(), registration), registrations_.end());
}

size_t Registry::registrations() {
    const std::lock_guard lock(mutex_);
    return registrations_.size();
}

Registration* Registry::registration(size_t index) {
    const std::lock_guard lock(mutex_);
    return index < registrations_.size() ? registrations_[index] : nullptr;
}

Registration* Registry::registration(const char* name) {
    const std::lock_guard lock(mutex_);
    for (Registration* r : registrations_)
        if (alike(base_.registration_name(r), name)) return r;
    return nullptr;
}

size_t Registry::devices() {
    const std::lock_guard lock(mutex_);
    return devices_.size();
}

Device* Registry::device(size_t index) {
    const std::lock_guard lock(mutex_);
    return index < devices_.size() ? devices_[index] : nullptr;
}

Device* Registry::device(const char* name) {
    const std::lock_guard lock(mutex_);
    for (Device* d : devices_)
        if (alike(base_.device_name(d), name)) return d;
    return nullptr;
}

Device* Registry::device(int32_t type) {
    const std::lock_guard lock(mutex_);
    for (Device* d : devices_)
        if (base_.device_type(d) == type) return d;
    return nullptr;
}

Backend* Registry::open(const char* name, const char* parameters) {
    Device* found = device(name);
    return found != nullptr ? base_.open(found, parameters) : nullptr;
}

Backend* Registry::open(int32_t type, const char* parameters) { return open_first(type, parameters); }

// The first of this type that opens. A driver that fails now is no reason to do without its neighbour.
Backend* Registry::open_first(int32_t type, const char* parameters) {
    std::vector<Device*> all;
    {
        const std::lock_guard lock(mutex_);
        all = devices_;
    }
    for (Device* d : all)
        if (base_.device_type(d) == type)
            if (Backend* backend = base_.open(d, parameters)) return backend;
    return nullptr;
}

Backend* Registry::open_best() {
    for (const int32_t type : {ggml::kTypeGpu, ggml::kTypeIntegrated, ggml::kTypeCpu})
        if (Backend* backend = open_first(type, nullptr)) return backend;
    return nullptr;
}

}  // namespace backplane::compat
