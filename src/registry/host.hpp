// What a module gets from this library: the bp_host table.
#pragma once

#include <map>
#include <string>

#include "backplane/context.hpp"

namespace backplane::registry {

// What the tables of all modules of one Context share. Immutable after construction; used from any thread.
struct HostServices {
    std::map<std::string, std::string> options;
    LogSink log;
    LogLevel least = LogLevel::info;

    void say(LogLevel level, std::string_view text) const noexcept;
};

// The table over `services`, which outlives it.
bp_host host_table(const HostServices& services) noexcept;

}  // namespace backplane::registry
