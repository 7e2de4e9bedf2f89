// What has to hold of an application that starts again and again on one generated module.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "zoo/generated/plan.hpp"
#include "zoo/generated/start.hpp"

namespace zoo {

struct Outcome {
    Plan plan;
    std::vector<Start> starts;
    bool first_death = false;   // at the first start at which the fault shows in the application
    bool second_death = false;  // at a later start: what must not be
    bool is_not_met = false;    // it died again and again, in a way that the documents have: is_not_met()
    bool second_death_of_one_used_once_more = false;  // one that docs/discovery.md has: is_used_once_more()
    bool right_device = true;           // each start that lived computed on a device that does not misbehave, rightly
    bool named = true;                  // where the module was kept out, the report names it and says why
    std::vector<std::string> failures;  // what should not have been: a sentence each
};

// Starts it in `folder` until it has lived twice, or once after a death, and judges each start.
Outcome put_to_the_test(const Plan& plan, const std::filesystem::path& folder, const Programs& programs);

}  // namespace zoo
