#include <algorithm>
#include <cstring>

#include "base/errors.hpp"
#include "registry/device_state.hpp"
#include "runtime/buffer_state.hpp"

namespace backplane {

struct Program::State {
    State(Device device_, bp_program* handle_) : device(std::move(device_)), handle(handle_) { ++device.state()->programs; }
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    ~State() {
        device.state()->guarded().close<&bp_module_api::program_close>(handle);
        --device.state()->programs;
    }

    Device device;
    bp_program* handle;
    ProgramInfo info;
};

namespace {

// std::atomic<uint32_t> has the representation of uint32_t here, which is what a module reads through a volatile pointer.
static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t) && std::atomic<uint32_t>::is_always_lock_free);
const volatile uint32_t* flag_of(const std::atomic<uint32_t>* cancel) {
    return reinterpret_cast<const volatile uint32_t*>(cancel);
}

ProgramInfo info_of(const Device::State& device, bp_program* program, size_t tensors) {
    bp_program_info raw{};
    raw.struct_size = BP_SIZE(bp_program_info, summary);
    base::ErrorRoom room;
    base::check(device.call<&bp_module_api::program_info>(room, program, &raw),
                "cannot read the plan of a program on " + device.info.id, room);
    ProgramInfo info{raw.workspace_bytes,
                     raw.workspace_alignment,
                     raw.resident_bytes,
                     raw.host_bytes,
                     raw.compile_ns,
                     raw.kernels,
                     raw.cache_hits,
                     {},
                     raw.summary == nullptr ? "" : raw.summary};
    if (raw.slots.count > tensors || (raw.slots.count > 0 && raw.slots.first == nullptr))
        throw Error(Code::internal, "the module of " + device.info.id + " wants " + std::to_string(raw.slots.count) +
                                        " tensors bound, of " + std::to_string(tensors) + ": report this to its author");
    for (uint32_t i = 0; i < raw.slots.count; ++i) {
        bp_slot slot{};
        const auto* from = BP_AT(bp_slot, &raw.slots, i);
        std::memcpy(&slot, from, std::min<size_t>(from->struct_size, sizeof slot));
        if (slot.tensor >= tensors)
            throw Error(Code::internal, "the module of " + device.info.id + " wants tensor " + std::to_string(slot.tensor) +
                                            " bound, which the graph does not have: report this to its author");
        info.slots.push_back({TensorId{slot.tensor}, slot.bytes, slot.alignment, slot.layout});
    }
    return info;
}

}  // namespace

std::vector<NodeSupport> query(const Device& device, const Graph& graph) {
    if (!device) throw Error(Code::invalid, "cannot query: no device given");
    Device::State& state = *device.state();
    state.expect_there("cannot ask " + state.info.id + " about a graph");
    const GraphData data = graph.data();
    std::vector<bp_answer> answers(graph.nodes().size());
    for (bp_answer& answer : answers) answer.struct_size = BP_SIZE(bp_answer, cost_ns);
    const bp_array room_for{answers.data(), static_cast<uint32_t>(answers.size()), sizeof(bp_answer)};
    base::ErrorRoom room;
    state.check(state.call<&bp_module_api::query>(room, state.handle, data.get(), &room_for),
                "cannot ask " + state.info.id + " about a graph", room);
    std::vector<NodeSupport> support;
    support.reserve(answers.size());
    for (const bp_answer& answer : answers) support.push_back({answer.code == BP_OK, answer.reason});
    return support;
}

Program::Program(const Device& device, const Graph& graph, const CompileOptions& options) {
    if (!device) throw Error(Code::invalid, "cannot compile: no device given");
    Device::State& state = *device.state();
    state.expect_there("cannot compile a graph for " + state.info.id);
    const GraphData data = graph.data();
    bp_compile how{};
    how.struct_size = BP_SIZE(bp_compile, math);
    how.flags = options.plan_only ? uint32_t{BP_COMPILE_PLAN_ONLY} : 0U;
    how.workspace_limit = options.workspace_limit;
    how.cancel = flag_of(options.cancel);
    how.math = options.math;
    base::ErrorRoom room;
    bp_program* handle = nullptr;
    const std::string what = "cannot compile a graph for " + state.info.id;
    state.check(state.call<&bp_module_api::compile>(room, state.handle, data.get(), &how, &handle), what, room);
    Device::State::expect_handle(handle, what);
    state_ = std::make_shared<State>(device, handle);
    state_->info = info_of(state, handle, graph.tensors().size());
}

const ProgramInfo& Program::info() const { return state_->info; }

const Device& Program::device() const { return state_->device; }

void Program::pack(const Slot& slot, std::span<const std::byte> plain, Buffer& into, uint64_t offset) const {
    Device::State& device = *state_->device.state();
    device.expect_there("cannot pack a weight on " + device.info.id);
    if (!BP_HAS(device.api, pack))
        throw Error(Code::internal, "the module of " + device.info.id +
                                        " wants a weight packed but has no pack(): report this to its author");
    uint32_t index = 0;
    const auto& slots = state_->info.slots;
    while (index < slots.size() && !(slots[index].tensor == slot.tensor)) ++index;
    if (index == slots.size()) throw Error(Code::invalid, "cannot pack: the program has no such slot");
    bp_copy request{};
    request.struct_size = BP_SIZE(bp_copy, signal);
    request.from_host = plain.data();
    request.to_buffer = into.get();
    request.to_offset = offset;
    request.bytes = plain.size();
    base::ErrorRoom room;
    const std::lock_guard lock(device.device_mutex);
    device.check(device.call<&bp_module_api::pack>(room, state_->handle, index, &request),
                 "cannot pack a weight on " + device.info.id, room);
}

void Program::run(std::span<const Binding> bindings, const Buffer& workspace, const std::atomic<uint32_t>* cancel) const {
    Device::State& device = *state_->device.state();
    device.expect_there("cannot run a program on " + device.info.id);
    std::vector<bp_binding> raw;
    raw.reserve(bindings.size());
    for (const Binding& b : bindings)
        raw.push_back({BP_SIZE(bp_binding, bytes), b.tensor.index, b.buffer.get(), b.offset, b.bytes});
    bp_run request{};
    request.struct_size = BP_SIZE(bp_run, cancel);
    request.bindings = {raw.data(), static_cast<uint32_t>(raw.size()), sizeof(bp_binding)};
    request.workspace = workspace.get();
    request.cancel = flag_of(cancel);
    base::ErrorRoom room;
    const std::lock_guard lock(device.device_mutex);
    device.check(device.call<&bp_module_api::run>(room, state_->handle, &request),
                 "cannot run a program on " + device.info.id, room);
}

}  // namespace backplane
