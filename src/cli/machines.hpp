// Machines that were written down, those that come along (machines/NAME.json) and those of files.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "cli/cli.hpp"
#include "discovery/machine.hpp"

namespace backplane::cli {

struct KnownMachine {
    std::string_view name, text;
};
std::span<const KnownMachine> known_machines();  // sorted by name; generated

// The name of one that comes along, or a file that `machine record` wrote. Throws Error(not_found, denied, invalid).
discovery::Machine open_machine(const std::string& name_or_file);

void add_machine(const Command& app, Run& run);
void add_bundle(const Command& app, Run& run);
void add_modules_plan(const Command& modules, Run& run);

}  // namespace backplane::cli
