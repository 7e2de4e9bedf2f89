// From the host's graph to a plan of dispatches, and from the buffers of a run to where each value lies: what a program does before any
// device is asked.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "common/cancel.hpp"
#include "common/gpu/abilities.hpp"
#include "common/gpu/plan.hpp"
#include "common/workspace.hpp"

namespace backplane::gpu {

using backend::kFirstSlot;
using backend::kResident;
using backend::kWorkspace;

inline constexpr uint32_t kMostOperands = 9;      // of a kernel
inline constexpr uint32_t kParameterWords = 128;  // of a dispatch, in memory; by value they are PARAMETER_WORDS

// All passes. Throws Failure: BP_UNSUPPORTED names the node and why; BP_NO_DEVICE_MEMORY when workspace_limit does not suffice;
// BP_CANCELLED when the flag is raised.
Plan make_plan(const bp_graph* graph, const bp_compile& how, const Abilities& can);

// "vulkan, 12 dispatches", a line for each weight that is packed, and for each dispatch.
std::string summary_of(const Plan& plan, const std::string& backend);

using backend::raised;

// Where something bound lies: Value::base counts these. `Buffer` has `size`, pinned(), and `id`, which is never used again: buffers are told
// apart by it, handles and addresses come back.
template <typename Buffer>
struct Place {
    Buffer buffer;
    uint64_t offset = 0;

    friend bool operator==(const Place& a, const Place& b) { return a.buffer.id == b.buffer.id && a.offset == b.offset; }
};

}  // namespace backplane::gpu
