#include "registry.hpp"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstring>
#include <new>
#include <string_view>

#include "backplane/error.hpp"
#include "base/dynamic_library.hpp"
#include "base/environment.hpp"
#include "platform/child.hpp"
#include "platform/library.hpp"

namespace backplane::compat {

namespace {

namespace fs = std::filesystem;

bool alike(const char* a, std::string_view b) {
    const auto same = [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); };
    const std::string_view text(a != nullptr ? a : "");
    return std::equal(text.begin(), text.end(), b.begin(), b.end(), same);
}

std::string upper(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    return text;
}

// Where modules are looked for when nobody says: the folder that this was built with, beside this library, beside the program.
std::vector<fs::path> search_folders() {
    std::vector<fs::path> folders;
    const auto add = [&](const fs::path& folder) {
        if (!folder.empty() && std::find(folders.begin(), folders.end(), folder) == folders.end()) folders.push_back(folder);
    };
    add(BACKPLANE_GGML_BACKEND_DIR);
    for (const fs::path& folder : own_folders()) add(folder);
    add(base::executable_file().parent_path());
    return folders;
}

// A name without a folder is the loader's to find, as for a library that is needed. What it would find in the places that can be looked
// into from here is an absolute path then; the rest stays a name.
fs::path located(const fs::path& path) {
    std::error_code error;
    if (path.has_parent_path()) return fs::absolute(path, error);
    std::vector<fs::path> folders;
    const std::string variable = base::environment("LD_LIBRARY_PATH").value_or("");
    for (size_t at = 0; at < variable.size();) {
        const size_t end = std::min(variable.find(base::list_separator(), at), variable.size());
        if (end > at) folders.emplace_back(variable.substr(at, end - at));
        at = end + 1;
    }
    for (const fs::path& folder : folders)
        if (fs::is_regular_file(folder / path, error)) return fs::absolute(folder / path, error);
    const std::vector<fs::path> own = own_folders();
    for (const fs::path& place : base::LibraryPlaces().of(path.string(), own))
        if (fs::is_regular_file(place, error)) return place;
    return path;
}

std::string joined(const std::vector<fs::path>& folders) {
    std::string text;
    for (const fs::path& folder : folders) text += (text.empty() ? "" : ", ") + folder.string();
    return text;
}

}  // namespace

Registry::Registry() {
    // A child of fork() has one thread: who held a lock in the parent is not there. The lists are whole, because fork() waits for them; a
    // load that was under way goes on in the parent alone.
    at_fork([] { instance().mutex_.lock(); }, [] { instance().mutex_.unlock(); },
            [] {
                new (&instance().mutex_) std::recursive_mutex();
                new (&instance().loading_) std::recursive_mutex();
            });
}

// Never destroyed: applications call it from their own destructors.
Registry& Registry::instance() {
    static auto* const kOne = new Registry();
    return *kOne;
}

// Needs loading_.
bool Registry::find_base() {
    if (base_.complete()) return true;
    const BaseFunctions found = find_base_functions(BACKPLANE_GGML_BASE);
    if (!found.complete()) {
        warn("no libggml-base" + std::string(base::library_ending()) +
             " (nor one with a number behind it) is loaded, or in " + joined(own_folders()) +
             ", or where the loader looks for " BACKPLANE_GGML_BASE ": no backend can be loaded");
        return false;
    }
    Search search = search_with(found.file, BACKPLANE_GGML_PREFIX);
    const std::lock_guard lock(mutex_);
    search_ = std::move(search);
    base_ = found;
    return true;
}

bool Registry::ready() {
    {
        const std::lock_guard lock(mutex_);
        if (base_.complete()) return true;
    }
    const std::lock_guard lock(loading_);
    return find_base();
}

// Once a text. Without ggml's log function it goes where that would write.
void Registry::say(const Message& message) {
    {
        const std::lock_guard lock(mutex_);
        if (!said_.insert(message.text).second) return;
    }
    if (base_.log != nullptr)
        base_.log(message.warning ? ggml::kLogWarn : ggml::kLogInfo, "backplane-ggml: %s\n", message.text.c_str());
    else if (message.warning)
        std::fprintf(stderr, "backplane-ggml: %s\n", message.text.c_str());
}

void Registry::add(Registration* registration) {
    if (registration == nullptr || !ready()) return;
    {
        const std::lock_guard lock(mutex_);
        if (std::find(registrations_.begin(), registrations_.end(), registration) != registrations_.end()) return;
        registrations_.push_back(registration);
    }
    const size_t count = base_.device_count(registration);
    for (size_t i = 0; i < count; ++i) add(base_.device_at(registration, i));
}

// In order of arrival, but discrete before integrated.
void Registry::add(Device* device) {
    if (device == nullptr || !ready()) return;
    const int32_t type = base_.device_type(device);
    const std::lock_guard lock(mutex_);
    if (std::any_of(devices_.begin(), devices_.end(), [&](const Listed& l) { return l.device == device; })) return;
    auto place = devices_.end();
    if (type == ggml::kTypeGpu)
        place =
            std::find_if(devices_.begin(), devices_.end(), [](const Listed& l) { return l.type == ggml::kTypeIntegrated; });
    devices_.insert(place, {device, type});
}

bool Registry::listed(std::string_view name) {
    const std::vector<Registration*> all = all_registrations();
    return std::any_of(all.begin(), all.end(), [&](Registration* r) { return alike(base_.registration_name(r), name); });
}

// A module answers for its file once, whatever path it is found under.
Registration* Registry::known(const ggml::FileFacts& facts) {
    const std::lock_guard lock(mutex_);
    for (const Loaded& one : loaded_)
        if (facts.size != 0 && one.volume == facts.volume && one.number == facts.number) return one.registration;
    return nullptr;
}

// Needs loading_. By the path as it was given: what a module needs may lie beside the link that stands for it.
Registration* Registry::load_file(const fs::path& path, Source source) {
    const ggml::FileFacts facts = ggml::facts_of(path);
    if (Registration* one = known(facts)) {
        add(one);
        return one;
    }
    try {
        Registration* registration = initialise(path, source);
        if (registration == nullptr) return nullptr;
        {
            const std::lock_guard lock(mutex_);
            loaded_.push_back({facts.volume, facts.number, registration});
        }
        add(registration);
        if (base_.log != nullptr)
            base_.log(ggml::kLogInfo, "load_backend: loaded %s backend from %s\n", base_.registration_name(registration),
                      path.c_str());
        return registration;
    } catch (const std::exception& error) {
        warn("cannot use " + path.string() + ": " + error.what());
    } catch (...) {
        warn("cannot use " + path.string() + ": something was thrown out of it");
    }
    return nullptr;
}

Registration* Registry::initialise(const fs::path& path, Source source) {
    const std::string what = "cannot use " + path.string() + ": ";
    base::DynamicLibrary library(path);
    const auto init = reinterpret_cast<ggml::ModuleInit>(library.symbol("ggml_backend_init"));
    if (init == nullptr) return warn(what + "it has no ggml_backend_init"), nullptr;
    // What somebody wrote down may be wrong; it knows itself what it was built for. A trial here has asked it already, and asking again
    // costs as much as loading does where each question to the processor is a trap.
    if (source != Source::trial)
        if (const auto score = reinterpret_cast<ggml::ModuleScore>(library.symbol("ggml_backend_score")))
            if (score() == 0)
                return warn(what + (source == Source::sidecar
                                        ? "its sidecar is wrong: it says itself that it is not for this processor"
                                        : "it is not for this processor")),
                       nullptr;
    Registration* registration = init();
    library.keep();  // pointers into it may be anywhere
    if (registration == nullptr) return warn(what + "it found nothing it can use"), nullptr;
    int32_t api = 0;
    std::memcpy(&api, registration, sizeof api);
    if (api != ggml::kApiVersion) return warn(what + "its API number is " + std::to_string(api)), nullptr;
    const size_t count = base_.device_count(registration);
    for (size_t i = 0; i < count; ++i)
        if (base_.device_at(registration, i) == nullptr)
            return warn(what + "its device " + std::to_string(i) + " is null"), nullptr;
    const std::vector<Registration*> all = all_registrations();
    if (std::find(all.begin(), all.end(), registration) == all.end() && listed(base_.registration_name(registration)))
        return warn(what + "there is a backend " + base_.registration_name(registration) + " already"), nullptr;
    return registration;
}

Registration* Registry::load(const fs::path& path) {
    const std::lock_guard lock(loading_);
    if (!find_base()) return nullptr;
    const fs::path file = located(path);
    Source source = Source::nobody;
    if (file.is_absolute() && known(ggml::facts_of(file)) == nullptr)
        if (const std::string why = why_not(file, search_, source); !why.empty())
            return warn("cannot use " + file.string() + ": " + why), nullptr;
    return load_file(file, source);
}

void Registry::load_from(const std::vector<fs::path>& folders) {
    Choice choice = choose(folders, search_);
    for (const Message& message : choice.messages) say(message);
    for (Kind& kind : choice.kinds) {
        if (base::environment(("GGML_DISABLE_" + upper(kind.name)).c_str())) continue;
        // A host that linked one in, or loaded it before, has it.
        if (listed(registration_of_kind(kind.name))) continue;
        std::vector<Message> messages;
        ask_scores(kind, messages);
        for (const Message& message : messages) say(message);
        for (const Usable& module : kind.usable)
            if (load_file(module.path, module.source) != nullptr) break;
    }
}

void Registry::load_all(const fs::path& folder) {
    const std::lock_guard lock(loading_);
    if (!find_base()) return;
    std::error_code error;
    const std::vector<fs::path> folders = folder.empty() ? search_folders() : std::vector{fs::absolute(folder, error)};
    load_from(folders);
    if (const auto extra = base::environment("GGML_BACKEND_PATH")) load(*extra);
    if (devices() == 0)
        warn("no device: no usable " + search_.prefix + "*" + std::string(base::library_ending()) + " in " +
             joined(folders) + "; ggml_backend_load_all_from_path or GGML_BACKEND_PATH name another place");
}

// It leaves the lists and stays mapped: pointers to it may be kept anywhere.
void Registry::unload(Registration* registration) {
    if (registration == nullptr || !ready()) return;
    const std::lock_guard lock(mutex_);
    std::erase_if(devices_, [&](const Listed& l) { return base_.registration_of(l.device) == registration; });
    std::erase(registrations_, registration);
}

std::vector<Registration*> Registry::all_registrations() {
    const std::lock_guard lock(mutex_);
    return registrations_;
}

std::vector<Registry::Listed> Registry::all_devices() {
    const std::lock_guard lock(mutex_);
    return devices_;
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
    if (name == nullptr) return nullptr;
    for (Registration* r : all_registrations())
        if (alike(base_.registration_name(r), name)) return r;
    return nullptr;
}

size_t Registry::devices() {
    const std::lock_guard lock(mutex_);
    return devices_.size();
}

Device* Registry::device(size_t index) {
    const std::lock_guard lock(mutex_);
    return index < devices_.size() ? devices_[index].device : nullptr;
}

Device* Registry::device(const char* name) {
    if (name == nullptr) return nullptr;
    for (const Listed& l : all_devices())
        if (alike(base_.device_name(l.device), name)) return l.device;
    return nullptr;
}

Device* Registry::device(int32_t type) {
    const std::lock_guard lock(mutex_);
    for (const Listed& l : devices_)
        if (l.type == type) return l.device;
    return nullptr;
}

Backend* Registry::open(const char* name, const char* parameters) {
    Device* found = device(name);
    return found != nullptr ? base_.open(found, parameters) : nullptr;
}

Backend* Registry::open(int32_t type, const char* parameters) { return open_first(type, parameters); }

// The first of this type that opens. A driver that fails now is no reason to do without its neighbour.
Backend* Registry::open_first(int32_t type, const char* parameters) {
    for (const Listed& l : all_devices())
        if (l.type == type)
            if (Backend* backend = base_.open(l.device, parameters)) return backend;
    return nullptr;
}

Backend* Registry::open_best() {
    for (const int32_t type : {ggml::kTypeGpu, ggml::kTypeIntegrated, ggml::kTypeCpu})
        if (Backend* backend = open_first(type, nullptr)) return backend;
    return nullptr;
}

}  // namespace backplane::compat
