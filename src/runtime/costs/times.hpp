// Time of graphs by the costs of devices, and which devices would be done first.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backplane/cost.hpp"

namespace backplane::runtime {

// Without what was learnt. Throws nothing of its own.
[[nodiscard]] Prediction predicted(const DeviceCosts& costs, const Graph& graph, const Fit& way);

struct Candidate {
    uint32_t device = 0;   // the caller's number of it
    std::string id, chip;  // two on one chip do not work beside each other
    const DeviceCosts* costs = nullptr;
    double learnt = 1;
    std::optional<double> seconds;  // of a batch on it alone; nothing: it does not fit
    const Fit* whole = nullptr;     // with all weights there, fit or not; null: it cannot run it
};

[[nodiscard]] std::optional<Placement> placed(const Graph& graph, std::span<const Candidate> candidates, int64_t batches,
                                              size_t most_parts);

}  // namespace backplane::runtime
