// The process-wide list of ggml backends and devices, as ggml's registry keeps it, over modules chosen by chooser.hpp.
#pragma once

#include <cstddef>
#include <filesystem>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "base_functions.hpp"
#include "chooser.hpp"

namespace backplane::compat {

// Members may be called from any thread; what they return stays valid until the process ends, unloaded or not. Who only asks never waits
// for who loads. After fork() the child has what was registered by then, and may load more.
class Registry {
public:
    Registration* load(const std::filesystem::path& file);
    void load_all(const std::filesystem::path& folder);  // empty: where search_folders() says
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
    struct Listed {
        Device* device;
        int32_t type;
    };
    Registry();
    bool find_base();
    bool ready();
    void say(const Message& message);
    void warn(const std::string& text) { say({true, text}); }
    Registration* known(const ggml::FileFacts& facts);
    Registration* load_file(const std::filesystem::path& path, Source source);
    Registration* initialise(const std::filesystem::path& path, Source source);
    void load_from(const std::vector<std::filesystem::path>& folders);
    std::vector<Registration*> all_registrations();
    std::vector<Listed> all_devices();
    Backend* open_first(int32_t type, const char* parameters);
    bool listed(std::string_view name);

    std::recursive_mutex loading_;  // held while a module is tried and loaded: it may call back while it is initialised
    std::recursive_mutex mutex_;    // for what is below; nothing of a module runs under it
    BaseFunctions base_;            // set once
    Search search_;                 // set with it
    std::vector<Registration*> registrations_;
    std::vector<Listed> devices_;
    std::vector<Loaded> loaded_;
    std::set<std::string> said_;
};

}  // namespace backplane::compat
