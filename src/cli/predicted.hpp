// What was predicted for a run, beside what came of it.
#pragma once

#include <string>

#include "backplane/cost.hpp"
#include "cli/cli.hpp"

namespace backplane::cli {

struct Predicted {
    std::string part, device;  // "a tile", "cpu:0"
    Prediction time;           // before this run taught the model anything
    double seconds = 0;        // it took; 0: it was not timed
    uint64_t planned = 0;      // bytes of the device; 0: the graph is not run by that device alone
    uint64_t held = 0;         // of the device by this process
    std::string problem;       // why nothing was predicted: a sentence; empty: it was
};

struct GraphThatRan {
    std::string part;
    Device device;
    const Graph& graph;
    FitOptions how;
    double seconds = 0;
};
enum class Teaches { yes, no };
// While what it took is still there. The model learns how long it took, where that is asked for: of each run once. `shown`: somebody reads what was
// predicted, also where that is of memory alone.
Predicted predicted_beside(CostModel& costs, const GraphThatRan& ran, bool shown, Teaches teaches = Teaches::yes);

std::string line_of(const Predicted& one);
Json json_of(const Predicted& one);

}  // namespace backplane::cli
