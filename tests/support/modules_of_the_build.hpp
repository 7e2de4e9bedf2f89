// The module files that this build made, and nothing else. For tests that have BP_TEST_BINARY_DIR.
#pragma once

#include <cctype>
#include <string>
#include <vector>

#include "backplane/context.hpp"
#include "support/patience.hpp"

namespace backplane::test {

inline ContextOptions modules_of_the_build() {
    ContextOptions options = patient();
    options.module_paths = {std::string(BP_TEST_BINARY_DIR) + "/lib/backplane"};
    options.search_defaults = false;
    options.use_environment = false;
    return options;
}

inline std::vector<std::string> devices_of_the_build() {
    std::vector<std::string> ids;
    for (const DeviceInfo& info : Context(modules_of_the_build()).devices()) ids.push_back(info.id);
    return ids;
}

// Of a device as a parameter of a test: "cpu_0".
struct NameOfDevice {
    template <typename Param>
    std::string operator()(const Param& param) const {
        std::string name = param.param;
        for (char& c : name)
            if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
        return name;
    }
};

}  // namespace backplane::test
