#include "base_functions.hpp"

#include <functional>
#include <utility>

#include "backplane/error.hpp"
#include "base/dynamic_library.hpp"
#include "base/file.hpp"
#include "chooser.hpp"
#include "platform/library.hpp"

namespace backplane::compat {

namespace {

namespace fs = std::filesystem;

constexpr const char* kTypical = "ggml_backend_reg_name";

template <typename Function>
bool take(Function& into, void* symbol) {
    into = reinterpret_cast<Function>(symbol);
    return symbol != nullptr;
}

// Left as it is when one is missing. `file`: the real one.
void fill(BaseFunctions& functions, fs::path file, const std::function<void*(const char*)>& symbol) {
    BaseFunctions f;
    f.file = std::move(file);
    if (!take(f.registration_name, symbol(kTypical)) || !take(f.device_count, symbol("ggml_backend_reg_dev_count")) ||
        !take(f.device_at, symbol("ggml_backend_reg_dev_get")) ||
        !take(f.registration_of, symbol("ggml_backend_dev_backend_reg")) ||
        !take(f.device_name, symbol("ggml_backend_dev_name")) || !take(f.device_type, symbol("ggml_backend_dev_type")) ||
        !take(f.open, symbol("ggml_backend_dev_init")))
        return;
    take(f.log, symbol("ggml_log_internal"));
    functions = f;
}

// A library by its file, or by its name alone.
void fill_from(BaseFunctions& functions, const fs::path& file) {
    if (functions.complete()) return;
    try {
        base::DynamicLibrary library(file);
        fill(functions, base::real_path(library.file()), [&](const char* name) { return library.symbol(name); });
        if (functions.complete()) library.keep();
    } catch (const Error&) {  // it cannot be loaded: perhaps the next
    }
}

}  // namespace

BaseFunctions find_base_functions(const std::string& soname) {
    BaseFunctions functions;
    if (void* one = ggml::symbol_in_reach(kTypical)) fill(functions, ggml::file_of(one), ggml::symbol_in_reach);
    if (functions.complete()) return functions;
    for (const fs::path& file : ggml::mapped_bases()) fill_from(functions, file);
    if (!functions.complete())
        if (void* one = ggml::symbol_anywhere(kTypical)) fill_from(functions, ggml::file_of(one));
    if (functions.complete()) return functions;
    std::vector<fs::path> places = own_folders();
    places.push_back(base::executable_file().parent_path());
    for (const fs::path& folder : places)
        if (!folder.empty())
            if (const fs::path file = ggml::find_base_library(folder); !file.empty()) fill_from(functions, file);
    fill_from(functions, soname);
    return functions;
}

}  // namespace backplane::compat
