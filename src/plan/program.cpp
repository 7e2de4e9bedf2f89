#include "plan/program.hpp"

#include <algorithm>
#include <cstring>

#include "base/errors.hpp"

namespace backplane::plan {

// std::atomic<uint32_t> has the representation of uint32_t here, which is what a module reads through a volatile pointer.
static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t) && std::atomic<uint32_t>::is_always_lock_free);
const volatile uint32_t* flag_of(const std::atomic<uint32_t>* cancel) noexcept {
    return reinterpret_cast<const volatile uint32_t*>(cancel);
}

std::shared_ptr<const Program> Program::compile(std::shared_ptr<Port> port, const Graph& graph, const CompileHow& how) {
    Device::State& state = port->state();
    const std::string what = "cannot compile a graph for " + state.info.id;
    state.expect_there(what);
    const GraphData data = graph.data();
    bp_compile request{};
    request.struct_size = BP_SIZE(bp_compile, math);
    request.flags = how.plan_only ? uint32_t{BP_COMPILE_PLAN_ONLY} : 0U;
    request.workspace_limit = how.workspace_limit;
    request.cancel = flag_of(how.cancel);
    request.math = how.math;
    base::ErrorRoom room;
    bp_program* handle = nullptr;
    state.check(state.call<&bp_module_api::compile>(room, state.handle, data.get(), &request, &handle), what, room);
    Device::State::expect_handle(handle, what);
    return std::make_shared<const Program>(std::move(port), handle, graph.tensors().size());
}

namespace {

Facts facts_of(const Device::State& device, bp_program* program, size_t tensors) {
    bp_program_info raw{};
    raw.struct_size = BP_SIZE(bp_program_info, moved_bytes);
    raw.moved_bytes = UINT64_MAX;
    base::ErrorRoom room;
    base::check(device.call<&bp_module_api::program_info>(room, program, &raw),
                "cannot read the plan of a program on " + device.info.id, room);
    Facts facts{raw.workspace_bytes,
                raw.workspace_alignment,
                raw.resident_bytes,
                raw.host_bytes,
                raw.compile_ns,
                raw.moved_bytes,
                raw.kernels,
                raw.cache_hits,
                {},
                raw.summary == nullptr ? "" : raw.summary};
    if (raw.slots.count > tensors || (raw.slots.count > 0 && raw.slots.first == nullptr))
        throw Error(Code::internal, "the module of " + device.info.id + " wants " + std::to_string(raw.slots.count) +
                                        " tensors bound, of " + std::to_string(tensors) + ": report this to its author");
    facts.slots.reserve(raw.slots.count);
    for (uint32_t i = 0; i < raw.slots.count; ++i) {
        bp_slot slot{};
        const auto* from = BP_AT(bp_slot, &raw.slots, i);
        std::memcpy(&slot, from, std::min<size_t>(from->struct_size, sizeof slot));
        if (slot.tensor >= tensors)
            throw Error(Code::internal, "the module of " + device.info.id + " wants tensor " + std::to_string(slot.tensor) +
                                            " bound, which the graph does not have: report this to its author");
        facts.slots.push_back({slot.tensor, slot.bytes, slot.alignment, slot.layout});
    }
    return facts;
}

}  // namespace

Program::Program(std::shared_ptr<Port> port, bp_program* handle, size_t tensors) : port_(std::move(port)), handle_(handle) {
    Device::State& state = port_->state();
    ++state.programs;
    try {
        facts_ = facts_of(state, handle, tensors);
    } catch (...) {
        state.guarded().close<&bp_module_api::program_close>(handle_);
        --state.programs;
        throw;
    }
}

Program::~Program() {
    port_->drain();  // no run of it is in flight
    Device::State& state = port_->state();
    state.guarded().close<&bp_module_api::program_close>(handle_);
    --state.programs;
}

}  // namespace backplane::plan
