// The modules that the contract is held against: all of this build.
#include <algorithm>
#include <cctype>
#include <filesystem>

#include "contract/module_under_test.hpp"
#include "support/system.hpp"

extern "C" const bp_static_module backplane_linked_in_modules[];

namespace contract {

namespace {

void add_files(std::vector<Entry>& found, const std::string& folder) {
    std::error_code none;
    std::vector<std::filesystem::path> files;
    for (const auto& file : std::filesystem::directory_iterator(folder, none))
        if (file.path().filename() == backplane::test::library(file.path().stem().string())) files.push_back(file.path());
    std::sort(files.begin(), files.end());
    for (const auto& file : files) {
        std::string name = "file_" + file.stem().string();
        std::replace_if(
            name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
        void* entry = backplane::test::symbol_of(file, "backplane_module");
        found.push_back({name, reinterpret_cast<backplane_module_fn>(entry)});
    }
}

std::vector<Entry> find_modules() {
    std::vector<Entry> found;
    for (const bp_static_module* m = backplane_linked_in_modules; m->entry != nullptr; ++m)
        found.push_back({"linked_" + std::to_string(m - backplane_linked_in_modules), m->entry});
    add_files(found, BP_TEST_MODULES);
    add_files(found, BP_TEST_MINIMAL);
    return found;
}

}  // namespace

const std::vector<Entry>& modules() {
    static const std::vector<Entry> found = find_modules();
    return found;
}

}  // namespace contract
