#include "plan/program.hpp"

#include <algorithm>
#include <array>

#include "base/errors.hpp"
#include "base/visible_text.hpp"
#include "runtime/buffer_state.hpp"

namespace backplane {

struct Program::State {
    std::shared_ptr<const plan::Program> program;
    Device device;
    ProgramInfo info;

    explicit State(std::shared_ptr<const plan::Program> program_)
        : program(std::move(program_)), device(program->port().device()) {
        const plan::Facts& f = program->facts();
        info = {f.workspace_bytes, f.workspace_alignment,
                f.resident_bytes,  f.host_bytes,
                f.compile_ns,      f.kernels,
                f.cache_hits,      {},
                f.summary};
        for (const plan::ProgramSlot& slot : f.slots)
            info.slots.push_back({TensorId{slot.tensor}, slot.bytes, slot.alignment, slot.layout});
    }
};

namespace {

constexpr size_t kWords = 256;  // bytes of a module's reason for one node

}  // namespace

std::vector<NodeSupport> query(const Device& device, const Graph& graph) {
    if (!device) throw Error(Code::invalid, "cannot query: no device given");
    Device::State& state = *DeviceAccess::state(device);
    state.expect_there("cannot ask " + state.info.id + " about a graph");
    const GraphData data = graph.data();
    std::vector<bp_answer> answers(graph.nodes().size());
    const auto ask = [&] {
        const bp_array room_for{answers.data(), static_cast<uint32_t>(answers.size()), sizeof(bp_answer)};
        base::ErrorRoom room;
        state.check(state.call<&bp_module_api::query>(room, state.handle, data.get(), &room_for),
                    "cannot ask " + state.info.id + " about a graph", room);
    };
    for (bp_answer& answer : answers) answer.struct_size = BP_SIZE(bp_answer, cost_ns);
    ask();
    std::vector<NodeSupport> support;
    support.reserve(answers.size());
    std::vector<size_t> refused;
    for (const bp_answer& answer : answers) {
        if (answer.code != BP_OK) refused.push_back(support.size());
        support.push_back({answer.code == BP_OK, static_cast<Why>(answer.reason), {}});
    }
    if (refused.empty()) return support;
    // Once more with room for words, which most graphs need for no node.
    std::vector<std::array<char, kWords>> words(refused.size());
    for (size_t i = 0; i < refused.size(); ++i) {
        bp_answer& answer = answers[refused[i]];
        answer = {};
        answer.struct_size = BP_SIZE(bp_answer, capacity);
        words[i][0] = '\0';
        answer.text = words[i].data();
        answer.capacity = kWords;
    }
    ask();
    for (size_t i = 0; i < refused.size(); ++i) {
        words[i].back() = '\0';
        support[refused[i]].text = base::visible(words[i].data());
    }
    return support;
}

Program::Program(const Device& device, const Graph& graph, const CompileOptions& options) {
    if (!device) throw Error(Code::invalid, "cannot compile: no device given");
    state_ = std::make_shared<State>(plan::Program::compile(
        plan::Port::of(device), graph,
        {options.plan_only, static_cast<uint32_t>(options.math), options.workspace_limit, options.cancel}));
}

Program::Program(std::shared_ptr<const plan::Program> program)
    : state_(program ? std::make_shared<State>(std::move(program)) : nullptr) {}

const ProgramInfo& Program::info() const { return state_->info; }

const Device& Program::device() const { return state_->device; }

void Program::pack(const Slot& slot, std::span<const std::byte> plain, Buffer& into, uint64_t offset) const {
    uint32_t index = 0;
    const auto& slots = state_->info.slots;
    while (index < slots.size() && !(slots[index].tensor == slot.tensor)) ++index;
    if (index == slots.size()) throw Error(Code::invalid, "cannot pack: the program has no such slot");
    plan::Port& port = state_->program->port();
    port.wait(port.pack(*state_->program, index, plain, bytes_of(into), offset));
}

void Program::run(std::span<const Binding> bindings, const Buffer& workspace, const std::atomic<uint32_t>* cancel) const {
    std::vector<plan::Use> uses;
    uses.reserve(bindings.size());
    // Which of them are written only the graph knows: as far as order goes, all are.
    for (const Binding& b : bindings)
        uses.push_back({b.tensor.index, b.buffer ? &bytes_of(b.buffer) : nullptr, b.offset, b.bytes, true});
    for (const plan::Use& use : uses)
        if (use.bytes == nullptr) throw Error(Code::invalid, "cannot run a program: a tensor is bound to no buffer");
    state_->program->port().run(*state_->program, uses, workspace ? &bytes_of(workspace) : nullptr, cancel, true);
}

}  // namespace backplane
