// Sentences of why a device was chosen, or none.
#pragma once

#include <string>
#include <vector>

#include "backplane/context.hpp"
#include "registry/filter.hpp"

namespace backplane::registry {

// What sentences call a module: the name of its file, or "cpu (linked in)".
std::string label_of(const Candidate& candidate);

// One line: which of the devices of a report the filter chooses and why, or why none and what to do. `source`: who gave the filter. All
// candidates are decided.
std::string why_chosen(const Filter& filter, const std::string& source, const ContextOptions& options, const Report& report);

}  // namespace backplane::registry
