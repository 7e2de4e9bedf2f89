// Budgets and streaming, as they are typed.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <string>

#include "backplane/fit.hpp"
#include "cli/cli.hpp"

namespace backplane::cli {

struct MemoryChoice {
    std::string memory, stream = "auto";
};
// --memory, --stream. `may_be_alone`: the second may have no value, and is empty then.
void add_memory_options(const Command& command, MemoryChoice& choice, bool may_be_alone = false);

// "512MiB", "8G", "1.5GiB", "1000000". 1024 a step, as drivers count. Throws UsageError.
uint64_t bytes_from(const std::string& text);
// "vulkan:0=1GiB,cpu=8GiB": by what a device filter chooses, its id. Throws UsageError, and what Context::choose() throws.
std::map<std::string, uint64_t> budgets_of(const Context& context, const MemoryChoice& choice);
// Of the device with this id; 0: none was given.
uint64_t budget_of(const std::map<std::string, uint64_t>& budgets, const std::string& device);
Streaming streaming_of(const MemoryChoice& choice);
// With both. `cancel`: what ends the looking, or null.
FitOptions fit_options(const MemoryChoice& choice, const std::map<std::string, uint64_t>& budgets,
                       const std::atomic<uint32_t>* cancel = nullptr);

}  // namespace backplane::cli
