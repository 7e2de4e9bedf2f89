// What a trial in a child process said, and what follows from it.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/process.hpp"
#include "registry/verdict_store.hpp"

namespace backplane::registry {

// Line by line: "step NAME"; "said TEXT", an error that the module logs; of each device "at {JSON}", then "fault {JSON}" or "sound", or "left {JSON}" alone;
// "devices COUNT"; "good" or "failed CODE TEXT"; "changed WHAT" of the process, "harmful" when a host puts it back; "threads" when some are
// left; then "end".
struct TrialRecord {
    explicit TrialRecord(const std::string& text);

    std::string step = "start", failure, changed;
    std::string said;  // what the module logged as errors, of a device: since its turn came; cut at some hundred bytes
    ReasonCode code = ReasonCode::none;  // of the failure
    bool good = false, complete = false, threads_left = false, harmful = false;
    uint32_t devices = 0;
    std::optional<DeviceFault> at;  // the device whose turn it was
    std::vector<DeviceFault> faults;
    std::vector<DevicePlace> left;
    bool lasting = true;     // every fault is one that does not go away by itself
    bool momentary = false;  // one is of the moment: no memory, in use
};

// How long a verdict stands, from now on: seconds since 1970.
int64_t in_an_hour();

// The child ended by itself, or did not come back within the limit.
RememberedTrial judge_trial(const base::ChildOutcome& child, const TrialRecord& record, std::chrono::milliseconds limit);

// Ended or hung while a device was tried: of that device. Nothing else can be said of a child that ended so.
std::optional<DeviceFault> fault_of_device(const base::ChildOutcome& child, const TrialRecord& record);

}  // namespace backplane::registry
