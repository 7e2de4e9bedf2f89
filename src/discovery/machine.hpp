// A machine that was written down: what decides there which modules are loaded. A file of it stands in for a machine that is not here.
//
//   {"backplane_machine": 1, "name": "...", "about": "...", "system": "linux", "architecture": "x86-64",
//    "cpu_features": ["avx2", ...], "libraries": {"libc.so.6": "", "libcuda.so.1": "580.159.04"}}
//
// system: linux, windows, macos. architecture: x86-64, arm64. cpu_features: as /proc/cpuinfo has them. libraries: by the names that programs
// load them by, the version that the name of the file tells, "" for none; null: nobody knows which there are. At most 1 MiB.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "discovery/judge.hpp"

namespace backplane::discovery {

inline constexpr uint64_t kMostMachineBytes = 1u << 20;

struct Machine {
    std::string name, about;
    Binary binary;
    base::CpuFeatures cpu_features;
    RecordedLibraries libraries;
};

// Throws Error(invalid) that names `from` and what is wrong: no JSON, another version, a member that is missing, of another kind or unknown.
Machine machine_from_json(std::string_view text, const std::string& from);
base::Json to_json(const Machine& machine);

Machine this_machine(const std::string& name);

// As discovery knows that machine. `brought`: a folder that is brought there, whose libraries are there then; may be empty.
Host host_of(const Machine& machine, const std::filesystem::path& brought = {});

}  // namespace backplane::discovery
