// What a module gets from this library: the bp_host table.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "backplane/context.hpp"
#include "cache/kernel_cache.hpp"

namespace backplane::registry {

// What the tables of all modules of one Context share. Immutable after construction; used from any thread.
struct HostServices {
    std::map<std::string, std::string> options;
    LogSink log;
    LogLevel least = LogLevel::info;
    ParallelFor parallel;                       // null: none is lent
    std::shared_ptr<cache::KernelCache> cache;  // null: none

    void say(LogLevel level, std::string_view text) const noexcept;
    // bp_host.parallel over `parallel`: each i exactly once, whatever the application's function does.
    void run_parallel(uint32_t n, void (*body)(void* arg, uint32_t i), void* arg) const noexcept;
};

// The kernel cache that `options` and the environment ask for; null when they ask for none. `services` outlives it.
std::shared_ptr<cache::KernelCache> open_cache(const ContextOptions& options, const HostServices& services);

// The host as one module sees it: the services of its context, and its own part of the kernel cache.
class Host {
public:
    // `build`: what tells this build of the module from every other. No two builds share cached kernels.
    Host(std::shared_ptr<const HostServices> services, std::string build);
    Host(const Host&) = delete;
    Host& operator=(const Host&) = delete;

    [[nodiscard]] const bp_host* table() const noexcept { return given_.get(); }  // lives as long as this
    // Whether the table is as it was given. What a module wrote there is put back.
    [[nodiscard]] bool put_back_if_changed() const noexcept;
    [[nodiscard]] const HostServices& services() const noexcept { return *services_; }
    [[nodiscard]] const std::string& build() const noexcept { return build_; }

private:
    std::shared_ptr<const HostServices> services_;
    std::string build_;
    bp_host table_{};
    std::unique_ptr<bp_host> given_;  // the module's own copy, in memory of its own
};

}  // namespace backplane::registry
