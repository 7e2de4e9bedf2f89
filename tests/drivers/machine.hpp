// What the tests of this folder run on: the command line with real drivers (Mesa's lavapipe, PoCL) or fake ones, whatever else this machine has.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "backplane/context.hpp"
#include "base/json.hpp"
#include "e2e/cli/program.hpp"
#include "support/driver_file.hpp"
#include "support/patience.hpp"
#include "support/system.hpp"

namespace backplane::drivers {

using base::Json;
using e2e::content;
using e2e::Outcome;
using e2e::Place;
using test::driver_file;
namespace fs = std::filesystem;

using Environment = std::vector<std::string>;  // "NAME=VALUE"

// How this build has a backend: "module", "linked", or "" for not at all.
inline std::string how_built(const std::string& backend) {
    return backend == "vulkan" ? BP_TEST_VULKAN : backend == "opencl" ? BP_TEST_OPENCL : "";
}

inline std::string loader_of(const std::string& backend) {
    return backend == "vulkan" ? "libvulkan.so.1" : "libOpenCL.so.1";
}

// Why a test with this backend, and with its driver where that is needed, cannot run here; empty: it can.
inline std::string why_not(const std::string& backend, bool with_driver) {
    if (how_built(backend).empty()) return "this build has no backend " + backend;
    if (with_driver && driver_file(backend).empty())
        return std::string(backend == "vulkan" ? "lavapipe (mesa-vulkan-drivers)" : "PoCL (pocl-opencl-icd)") +
               " is not installed";
    return {};
}

#define BP_NEEDS(backend, with_driver) \
    if (const std::string why = why_not(backend, with_driver); !why.empty()) GTEST_SKIP() << why

// Excludes every backend that has drivers but this one; the CPU's are left.
inline std::string only(const std::string& backend) {
    std::string out;
    for (const char* other : {"vulkan", "opencl", "ggml"})
        if (backend != other) out += std::string(out.empty() ? "!" : ",!") + other;
    return out;
}

// Nothing of this user's, one driver for each API, and a folder for what PoCL compiles that the tests share.
inline Environment quiet(const Place& place, Environment first = {}) {
    for (const std::string& line : {
             "BACKPLANE_STATE_DIR=" + place.at("state"),
             "HOME=" + place.at("home"),
             "XDG_CACHE_HOME=" + place.at("home/.cache"),
             "XDG_CONFIG_HOME=" + place.at("home/.config"),
             "XDG_DATA_HOME=" + place.at("home/.local/share"),
             std::string("POCL_CACHE_DIR=") + BP_TEST_POCL_CACHE,
             std::string("MESA_SHADER_CACHE_DISABLE=true"),
             "VK_DRIVER_FILES=" + driver_file("vulkan"),
             "OCL_ICD_VENDORS=" + driver_file("opencl"),
         })
        first.push_back(line);  // of two lines with one name the first counts
    return first;
}

// For a context in this very process: these modules, nothing of this user's.
inline ContextOptions options_for(const Place& place) {
    ContextOptions options = test::patient();
    options.module_paths = {BP_TEST_MODULES};
    options.search_defaults = options.use_environment = false;
    options.state_folder = place.at("state");
    return options;
}

// What quiet() says, for this very process.
inline void set_environment(const Environment& environment) {
    for (auto line = environment.rbegin(); line != environment.rend(); ++line)
        test::set_environment(line->substr(0, line->find('=')), line->substr(line->find('=') + 1));
}

inline void write(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(path).parent_path());
    std::ofstream(path, std::ios::binary) << text;
}

// The devices as `devices --json` lists them, and what was chosen.
inline Json devices(const Place& place, const std::vector<std::string>& arguments, const Environment& environment) {
    std::vector<std::string> all{"devices", "--json", "--no-cache"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    const Outcome o = e2e::run(place, all, environment);
    EXPECT_EQ(o.exit_code, 0) << o.err;
    return Json::parse(o.out);
}

inline Json device(const Json& report, const std::string& id) {
    for (const Json& d : report["devices"])
        if (d["id"] == id) return d;
    return {};
}

}  // namespace backplane::drivers
