// Does a driver compute what ops mean? Found out once a driver, and remembered.
#pragma once

#include <map>
#include <set>
#include <string>

#include "backplane/context.hpp"
#include "backplane/graph.hpp"

namespace backplane::runtime {

struct OpFault {
    enum Kind {
        none,           // the op is right
        wrong,          // it ran, and something else came out
        would_not_run,  // it did not build or run: no memory, no disk, a compiler that failed; next time it may
    };
    Kind kind = none;
    std::string text;        // which case, and what came out, or the driver's words
    std::string remembered;  // since when and until when, and how to forget it; empty: it is not remembered
};

// Those of `ops` that the device gets wrong or does not run. Runs three cases of the conformance table, of different thirds so that type and
// shape differ, for each op that nothing is remembered of; nothing at all for devices whose module touches no driver. Only results are
// remembered: right ones until module or driver change, wrong ones for 30 days. Throws Error(device_lost) only.
std::map<Op, OpFault> faulty_ops(const Device& device, const std::set<Op>& ops);

}  // namespace backplane::runtime
