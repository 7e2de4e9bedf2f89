// Drivers that are registered by files which name a library each, and what is wrong with them.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace backplane::backend {

// The drivers of an interface, as they are registered.
struct Registry {
    const char* api;                   // "OpenCL"
    const char* file;                  // what a registration is called: "ICD"
    const char* suffix;                // of their names; what ends otherwise is a driver itself, of which nothing is said
    std::vector<const char*> entries;  // a driver has one of these functions
    std::string advice;                // to who has a broken driver
    // The library that a registration of this text names; nothing: it is for other programs than this.
    std::optional<std::string> (*library_of)(const std::string& file, const std::string& text);
    std::vector<std::string> files;

    // The drivers that cannot be loaded, in a sentence; "": there are none. Those for programs of another word size are none.
    [[nodiscard]] std::string broken() const;
};

// An interface's loader ("libOpenCL.so.1" of "OpenCL"), never closed, that has the function `entry`. Null: `why` says so, with the advice.
void* open_loader(const char* api, const char* name, const char* entry, const char* advice, std::string& why);

// Those of these variables that are set, "A=x, B=y"; with `first`, only the first. "": none.
std::string variables(const std::vector<const char*>& names, bool first = false);

// The texts, one after another with commas between.
std::string listed(const std::vector<std::string>& texts);

}  // namespace backplane::backend
