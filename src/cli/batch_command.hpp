// What `upscale` and `transcribe` share where they are given many files: which files, which devices, what is printed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "batch/batch.hpp"
#include "batch/inputs.hpp"
#include "cli/cli.hpp"

namespace backplane::cli {

struct BatchChoice {
    std::string output, manifest, devices;
    int64_t ranks = 0, silence = 300;
    bool again = false, force = false, progress = false;
};
// --manifest, --devices, --ranks, --silence, --again, --force, --progress
void add_batch_options(const Command& command, BatchChoice& choice);

// All that a result depends on: what the command says of itself, the program, the file (or folder) of the model as it is now.
std::string how_of(const std::string& command, const std::filesystem::path& model);

// Wrong use is said before anything is loaded: two files of one name, an input or a read-only file that would be lost, no folder.
void check_targets(const BatchChoice& choice, const std::vector<batch::Task>& tasks);

// The ids of the devices that take part. One process: those of --devices, as far as they can be had (the rest is told on the error stream); or
// the one of --device; or all that compute in hardware of their own, each chip by its preferred backend. Of several processes each takes one of
// them by its local rank, no CPU where there is anything else. `why`: a sentence. Throws Error(not_found) where there is none.
std::vector<std::string> devices_for(const Context& context, const DeviceChoice& choice, const BatchChoice& batch,
                                     const batch::Ranks& ranks, std::string& why);

struct BatchWords {
    std::string doing;  // "transcribing"
    std::function<std::string(const batch::News&)>
        line;                                      // of a file that is done, for people; may be several lines, or none
    std::function<Json(const batch::News&)> json;  // of a file that is done, for programs
    std::function<std::string(double work, double took)> speed;  // "3.1 times real time"; of work of the tasks' unit
};

// Runs it, prints each file as it ends and, where results are files in a folder, what came of all; run.exit_code is 1 where a file failed.
void run_batch(const std::vector<batch::Task>& tasks, const std::vector<batch::Station>& stations, const BatchChoice& choice,
               batch::Options options, const BatchWords& words, Run& run);

}  // namespace backplane::cli
