#include "cli/predicted.hpp"

#include "cli/measure_costs.hpp"

namespace backplane::cli {

Predicted predicted_beside(CostModel& costs, const GraphThatRan& ran, bool shown, Teaches teaches) {
    Predicted one{ran.part, ran.device.info().id, {}, ran.seconds, 0, 0, {}};
    if (!shown && costs.of(ran.device) == nullptr) return one;  // a plan takes time
    one.held = ledger(ran.device).held;
    const std::vector<Fit> ways = fits({ran.device}, ran.graph, ran.how);
    const Fit* way = best_fit(ways, ran.how.streaming);
    if (way == nullptr && ways.front().possible) way = &ways.front();
    if (way == nullptr) {
        one.problem = ways.front().problem;
        return one;
    }
    one.planned = way->needs;
    one.time = costs.predict(ran.device, ran.graph, *way);
    if (!one.time.known)
        one.problem = "what work costs on " + one.device + " is not known: `backplane devices --measure` finds out";
    else if (ran.seconds > 0 && teaches == Teaches::yes)
        costs.learn(ran.device, ran.graph, *way, ran.seconds);
    return one;
}

std::string line_of(const Predicted& one) {
    const std::string memory =
        one.planned == 0 ? "" : human_bytes(one.planned) + " planned, " + human_bytes(one.held) + " held";
    std::string text = one.part + " on " + one.device + ": ";
    const std::string taken = one.seconds > 0 ? milliseconds(one.seconds) + " taken" : "not timed";
    if (!one.time.known)
        return text + (one.seconds > 0 ? taken + "; " : "") + memory + (memory.empty() ? "" : "; ") + one.problem;
    text += milliseconds(one.time) + " predicted";
    if (one.time.runs + one.time.networks != 0) text += " (corrected by " + corrected_by(one.time) + ")";
    text += ", " + taken;
    return text + (memory.empty() ? "" : "; ") + memory;
}

Json json_of(const Predicted& one) {
    return {{"part", one.part},
            {"device", one.device},
            {"known", one.time.known},
            {"predicted_seconds", one.time.seconds},
            {"learnt", one.time.learnt},
            {"runs", one.time.runs},
            {"networks", one.time.networks},
            {"seconds", one.seconds},
            {"planned", one.planned},
            {"held", one.held},
            {"problem", one.problem}};
}

}  // namespace backplane::cli
