#include "common/platform/registrations.hpp"

#include <algorithm>

#include "common/platform/system.hpp"

namespace backplane::backend {

namespace {

// What is wrong with one registration; "": nothing.
std::string fault_of(const Registry& registry, const std::string& file) {
    const std::string suffix = registry.suffix;
    if (file.size() < suffix.size() || file.compare(file.size() - suffix.size(), suffix.size(), suffix) != 0) return {};
    const std::string registration = std::string(registry.file) + " " + file;
    std::string text;
    if (!read_text(file, text)) return registration + " cannot be read: " + text;
    const std::optional<std::string> library = registry.library_of(file, text);
    if (!library) return {};
    if (library->empty()) return registration + " names no library";
    std::string reason;
    void* opened = open_library(*library, reason, Binding::late);
    if (reason.rfind(*library + ": ", 0) == 0) reason.erase(0, library->size() + 2);
    // glibc's words; 32-bit drivers are registered beside 64-bit ones.
    if (opened == nullptr && reason.find("wrong ELF class") != std::string::npos) return {};
    if (opened == nullptr) return registration + " names " + *library + " which cannot be loaded: " + reason;
    if (std::none_of(registry.entries.begin(), registry.entries.end(),
                     [&](const char* entry) { return find_function(opened, entry) != nullptr; }))
        return registration + " names " + *library + " which is no " + registry.api + " driver (a stub?)";
    return {};
}

}  // namespace

std::string Registry::broken() const {
    std::vector<std::string> faults;
    for (const std::string& each : files)
        if (std::string fault = fault_of(*this, each); !fault.empty()) faults.push_back(std::move(fault));
    if (faults.empty()) return {};
    const size_t more = faults.size() - 1;
    return faults[0] + (more != 0 ? ", and " + std::to_string(more) + " more are broken" : "") + "; " + advice;
}

void* open_loader(const char* api, const char* name, const char* entry, const char* advice, std::string& why) {
    std::string reason;
    void* library = open_library(name, reason);
    if (library == nullptr) {
        why = std::string("the ") + api + " loader " + name + " does not open (" + reason + "); " + advice;
    } else if (find_function(library, entry) == nullptr) {
        why = std::string(name) + " has no " + entry + " (a stub?); " + advice;
        return nullptr;
    }
    return library;
}

std::string variables(const std::vector<const char*>& names, bool first) {
    std::vector<std::string> out;
    for (const char* name : names)
        if (const std::string value = environment(name); !value.empty() && (!first || out.empty()))
            out.push_back(std::string(name) + "=" + value);
    return listed(out);
}

std::string listed(const std::vector<std::string>& texts) {
    std::string out;
    for (const std::string& text : texts) out += (out.empty() ? "" : ", ") + text;
    return out;
}

}  // namespace backplane::backend
