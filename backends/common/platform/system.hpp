// What a backend that drives a device asks of the operating system: libraries opened at run time, and why there may be no device.
#pragma once

#include <string>
#include <vector>

namespace backplane::backend {

using AnyFunction = void (*)();

// When the functions that a library calls are looked for: as it is opened, or (as loaders open drivers) when it calls them.
enum class Binding { now, late };

// A library of the system, never closed: drivers leave threads and thread-local data behind. Null: `why` is the system's reason.
void* open_library(const std::string& name, std::string& why, Binding binding = Binding::now);
// Null: the library has no such function.
AnyFunction find_function(void* library, const char* name);

// A variable of the environment; empty when it is not set, and in a process that runs with another user's rights.
std::string environment(const char* name);
// Files of `folder` whose names end in `suffix`, with their path, sorted; none when there is no such folder.
std::vector<std::string> files_in(const std::string& folder, const std::string& suffix);
// The contents of a small file. False: `text` is the reason it cannot be read.
bool read_text(const std::string& path, std::string& text);

// Whether this process can reach a GPU, as the system's device files say: "" when it can open one; else a sentence that says whether
// there is none or this user may not open it.
std::string why_no_device_file();

}  // namespace backplane::backend
