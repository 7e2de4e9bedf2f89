// The process-wide list of ggml backends and devices, as ggml's registry keeps it, over modules chosen by chooser.hpp.
#pragma once

#include <cstddef>
#include <filesystem>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "abi.hpp"
#include "base/dynamic_library.hpp"
#include "chooser.hpp"

namespace backplane::compat {

using ggml::Backend;
using ggml::Device;
using ggml::Registration;

// The functions of the process's libggml-base that a registry calls.
struct BaseFunctions {
    std::filesystem::path file;
    const char* (*registration_name)(Registration*) = nullptr;
    size_t (*device_count)(Registration*) = nullptr;
    Device* (*device_at)(Registration*, size_t) = nullptr;
    Registration* (*registration_of)(Device*) = nullptr;
    const char* (*device_name)(Device*) = nullptr;
    int32_t (*device_type)(Device*) = nullptr;
    Backend* (*open)(Device*, const char* parameters) = nullptr;
    void (*log)(int32_t level, const char* format, ...) = nullptr;  // null: none

    [[nodiscard]] bool complete() const { return open != nullptr; }
};

// Members may be called from any thread; what they return stays valid until the process ends, unloaded or not.
class Registry {
public:
    Registration* load(const std::filesystem::path& file);
    void load_all(const std::filesystem::path& folder);  // empty: beside this library, then beside the program
    void unload(Registration* registration);
    void add(Registration* registration);
    void add(Device* device);

    size_t registrations();
    Registration* registration(size_t index);
    Registration* registration(const char* name);
    size_t devices();
    Device* device(size_t index);
    Device* device(const char* name);
    Device* device(int32_t type);

    Backend* open(const char* name, const char* parameters);
    Backend* open(int32_t type, const char* parameters);
    Backend* open_best();

    static Registry& instance();

private:
    struct Loaded {
        uint64_t volume, number;  // which file it is, whatever its names
        Registration* registration;
    };
    bool find_base();
    void say(const std::string& text);
    Registration* load_locked(const std::filesystem::path& file, bool ask_score);
    void add_locked(Registration* registration);
    void load_from(const std::filesystem::path& folder);
    Backend* open_first(int32_t type, const char* parameters);
    bool listed(const char* name);

    std::recursive_mutex mutex_;  // a module may register devices while it is initialised
    BaseFunctions base_;
    base::DynamicLibrary base_library_;
    Search search_;
    std::vector<Registration*> registrations_;
    std::vector<Device*> devices_;
    std::vector<Loaded> loaded_;
    std::set<std::string> said_;
};

}  // namespace backplane::compat
