// What `backplane modules index` found out of a ggml module, in a file beside it: NAME.backplane.json (docs/ggml.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "platform/files.hpp"

namespace backplane::ggml {

struct Sidecar {
    std::string kind;              // "cpu"
    std::string version;           // of its libggml-base: "0.25.1"
    std::string processor;         // where it was tried, processor_text()
    std::vector<std::string> cpu;  // features it says it uses, names as in /proc/cpuinfo; empty: not known
    int score = 0;                 // the module's own, on that processor; 0: not for that processor
    bool probe_in_child = true;    // it touches a driver: what was good when it was indexed may not be now
    uint64_t file_size = 0, base_size = 0;
    std::string file_build_id, base_build_id;
};

// The JSON of a module's sidecar, without "file", which who writes it adds.
std::string text_of(const Sidecar& sidecar);

// Nothing: there is none, or (`problem` is then a sentence) one that is not believed. Reads nothing but the sidecar.
std::optional<Sidecar> read_sidecar(const fs::path& module, std::string& problem);

// Throws sdk::Failure with what is wrong. `text` is a stranger's.
Sidecar parse_sidecar(const std::string& text);

// Is it about this very file, with this very libggml-base? Empty: yes. By sizes alone, or with the build ids, for which both are opened.
std::string why_stale(const Sidecar& sidecar, const fs::path& module, const fs::path& base);
std::string why_stale_by_size(const Sidecar& sidecar, const fs::path& module, const fs::path& base);

}  // namespace backplane::ggml
