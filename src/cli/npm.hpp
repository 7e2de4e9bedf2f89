// Packages of npm's registries, without npm: which registry this machine is set up for, and a package's file, fetched in pieces and checked.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace backplane::cli {

struct NpmPackage {
    std::string name;  // "@upscalerjs/esrgan-medium"
    std::string version;
    uint64_t bytes = 0;  // of its file
    std::string sha512;  // hexadecimal
};

// The registry for a package, without a slash at its end, as npm would choose it: the scope's of the files below, npm_config_registry and
// NPM_CONFIG_REGISTRY, "registry" of ~/.npmrc (NPM_CONFIG_USERCONFIG) and /etc/npmrc (NPM_CONFIG_GLOBALCONFIG), else what
// `npm config get registry` says where there is an npm. Throws Error(not_found) that says how to set one.
std::string npm_registry(const NpmPackage& package);

// "esrgan-medium-1.0.0.tgz", as registries name it.
std::string npm_file_of(const NpmPackage& package);

// Fetches the package's file into `to`, where a part of it that is there already is gone on with, by the program curl. Returns when the file is whole and has
// its hash. Throws Error: not_found (no curl; the registry cannot be reached or has no such package), corrupt (another file than the one that is known; it is
// removed), cancelled. `told` hears how many bytes are there.
void fetch_npm_file(const NpmPackage& package, const std::filesystem::path& to,
                    const std::function<void(uint64_t bytes)>& told);

// The file of a program by its name, in the folders of PATH; empty: there is none.
std::filesystem::path find_program(std::string_view name);

}  // namespace backplane::cli
