// One start of the application on one generated module, and what became of it.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "zoo/generated/plan.hpp"

namespace zoo {

struct Candidate {
    std::string file, verdict, code, reason;
};

struct Start {
    int number = 0;
    bool died = false;      // it did not come to its end with exit code 0
    bool hung = false;      // and that is because it was ended by us
    std::string how;        // "signal 11", "exit code 3", "hung", "exit code 0 before its end"
    bool in_child = false;  // the fault showed in a trial of this start, or in the application itself
    bool in_host = false;
    std::vector<std::string> survivors;  // of the trial: processes that outlived it
    std::string chosen, computed;        // files of modules: opened, and computed on in the end
    bool steady = false;                 // the healthy device gave what it should
    std::vector<std::string> wrong, errors, foreign, notes, leaks;
    std::vector<Candidate> candidates;
};

struct Programs {
    std::filesystem::path host, probe, modules;  // the folder of the modules, built
    std::chrono::milliseconds limit{};           // of a trial
};

// Makes `folder` anew: the generated module with its plan, the minimal example that it outranks, a healthy one of another backend.
void lay_out(const std::filesystem::path& folder, const Plan& plan, const Programs& programs);

// Starts the application in that folder for the `number`-th time and waits until it has ended; one that hangs is killed, as its user would.
Start start(const std::filesystem::path& folder, int number, const Programs& programs);

}  // namespace zoo
