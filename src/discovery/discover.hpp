// The whole of discovery: find, inspect, judge, rank. Nothing here runs a module's code.
#pragma once

#include <vector>

#include "backplane/context.hpp"
#include "backplane/module.h"
#include "discovery/inspect.hpp"
#include "discovery/judge.hpp"

namespace backplane::discovery {

struct Rated {
    Candidate candidate;  // verdict `rejected` with a reason, or not decided yet (code none)
    Inspection inspection;
    const bp_static_module* linked_in = nullptr;
    size_t place = 0;              // of its folder among the sources
    base::DynamicLibrary by_name;  // open while this lives, when it took that to read its descriptor
};

struct Discovery {
    std::vector<Source> sources;
    std::vector<Rated>
        rated;  // good ones first, grouped by backend, each group in the order in which to try; then the rejected
    std::vector<std::string> notes;  // sentences for Report::notes
};

// `linked_in` ends with an entry of struct_size 0; may be null.
Discovery discover(const ContextOptions& options, const bp_static_module* linked_in, std::string_view cpu_mask);
// The same judged for another machine (discovery/machine.hpp).
Discovery discover(const ContextOptions& options, const bp_static_module* linked_in, const Host& host);

// Judged and ranked, as discover() has them, what was inspected elsewhere: of a catalogue.
std::vector<Rated> rate_all(std::vector<Inspection> inspections, const Host& host);

}  // namespace backplane::discovery
