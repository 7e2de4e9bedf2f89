// Does a driver compute what ops mean? Found out once a driver, and remembered.
#pragma once

#include <map>
#include <set>
#include <string>

#include "backplane/context.hpp"
#include "backplane/graph.hpp"

namespace backplane::runtime {

// Those of `ops` that the device gets wrong, with what was found. Runs a few cases of the conformance table for each op that nothing is
// remembered of; nothing at all for devices whose module touches no driver. Throws Error(device_lost) only.
std::map<Op, std::string> wrong_ops(const Device& device, const std::set<Op>& ops);

}  // namespace backplane::runtime
