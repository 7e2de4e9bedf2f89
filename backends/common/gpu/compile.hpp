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

inline constexpr uint32_t kMostOperands = 9;  // of a kernel
inline constexpr uint32_t kParameterWords =
    128;  // of a dispatch, as kernels read them from memory; by value they are PARAMETER_WORDS

// All passes. Throws Failure: BP_UNSUPPORTED names the node and why; BP_NO_DEVICE_MEMORY when workspace_limit does not suffice;
// BP_CANCELLED when the flag is raised.
Plan make_plan(const bp_graph* graph, const bp_compile& how, const Abilities& can);

// Answers for each node whether the device does it.
void answer_query(const bp_graph* graph, const bp_array* answers, const Abilities& can);

std::vector<bp_slot> slots_of(const Plan& plan, uint64_t alignment);
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

// Checks every binding before anything runs, so that a refused run has written nothing. kResident stays empty. Throws
// Failure(BP_INVALID).
template <typename Buffer>
std::vector<Place<Buffer>> places_of(const Plan& plan, const bp_run& run) {
    const auto invalid = [](const std::string& why) { return sdk::Failure(BP_INVALID, "run: " + why); };
    if (run.bindings.count != 0 && run.bindings.first == nullptr) throw invalid("the bindings have no memory");
    std::vector<Place<Buffer>> places(kFirstSlot + plan.slots.size());
    if (plan.workspace_bytes > 0) {
        const auto* workspace = reinterpret_cast<const Buffer*>(run.workspace);
        if (workspace == nullptr || run.workspace_offset > workspace->size ||
            workspace->size - run.workspace_offset < plan.workspace_bytes)
            throw invalid("the workspace must have " + std::to_string(plan.workspace_bytes) + " bytes");
        places[kWorkspace] = {*workspace, run.workspace_offset};
    }
    std::vector<bool> bound(plan.slots.size());
    for (uint32_t i = 0; i < run.bindings.count; ++i) {
        const bp_binding b = sdk::read(BP_AT(bp_binding, &run.bindings, i));
        const auto slot =
            std::find_if(plan.slots.begin(), plan.slots.end(), [&](const Slot& s) { return s.tensor == b.tensor; });
        const std::string tensor = "tensor " + std::to_string(b.tensor);
        if (slot == plan.slots.end()) throw invalid(tensor + " is bound, but the program has no such slot");
        const auto index = static_cast<size_t>(slot - plan.slots.begin());
        if (bound[index]) throw invalid(tensor + " is bound twice");
        const auto* buffer = reinterpret_cast<const Buffer*>(b.buffer);
        if (buffer == nullptr) throw invalid(tensor + " is bound to no buffer");
        if (buffer->pinned()) throw invalid(tensor + " is bound to pinned host memory, which kernels do not see; copy it");
        if (b.offset > buffer->size || buffer->size - b.offset < std::max(slot->bytes, b.bytes) || b.bytes < slot->bytes)
            throw invalid(tensor + " needs " + std::to_string(slot->bytes) + " bytes, the binding has less");
        places[kFirstSlot + index] = {*buffer, b.offset};
        bound[index] = true;
    }
    for (size_t i = 0; i < bound.size(); ++i)
        if (!bound[i]) throw invalid("tensor " + std::to_string(plan.slots[i].tensor) + " is not bound");
    return places;
}

}  // namespace backplane::gpu
