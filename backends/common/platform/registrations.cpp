#include "common/platform/registrations.hpp"

#include <algorithm>

#include "common/platform/system.hpp"

namespace backplane::backend {

std::string fault_of(const std::string& registration, const std::string& library, const char* api,
                     const std::vector<const char*>& entries) {
    if (library.empty()) return registration + " names no library";
    std::string reason;
    void* opened = open_library(library, reason, Binding::late);
    if (reason.rfind(library + ": ", 0) == 0) reason.erase(0, library.size() + 2);
    // glibc's words; 32-bit drivers are registered beside 64-bit ones.
    if (opened == nullptr && reason.find("wrong ELF class") != std::string::npos) return {};
    if (opened == nullptr) return registration + " names " + library + " which cannot be loaded: " + reason;
    if (std::none_of(entries.begin(), entries.end(), [&](const char* e) { return find_function(opened, e) != nullptr; }))
        return registration + " names " + library + " which is no " + api + " driver (a stub?)";
    return {};
}

std::string sentence_of(const std::vector<std::string>& faults, const std::string& advice) {
    if (faults.empty()) return {};
    const size_t more = faults.size() - 1;
    return faults[0] + (more != 0 ? ", and " + std::to_string(more) + " more are broken" : "") + "; " + advice;
}

}  // namespace backplane::backend
