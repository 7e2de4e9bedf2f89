#include "plan/program.hpp"

#include <algorithm>

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
    // Room for the words of every node: a module that refuses one of a thousand is asked once all the same.
    std::vector<bp_answer> answers(graph.nodes().size());
    std::vector<char> words(answers.size() * kWords);
    for (size_t i = 0; i < answers.size(); ++i) {
        answers[i].struct_size = BP_SIZE(bp_answer, capacity);
        answers[i].text = words.data() + i * kWords;
        answers[i].capacity = kWords;
    }
    const bp_array room_for{answers.data(), static_cast<uint32_t>(answers.size()), sizeof(bp_answer)};
    base::ErrorRoom room;
    state.check(state.call<&bp_module_api::query>(room, state.handle, data.get(), &room_for),
                "cannot ask " + state.info.id + " about a graph", room);
    std::vector<NodeSupport> support;
    support.reserve(answers.size());
    for (size_t i = 0; i < answers.size(); ++i) {
        const bool done = answers[i].code == BP_OK;
        char* text = words.data() + i * kWords;  // ours, whatever the answer says of it
        text[kWords - 1] = '\0';
        support.push_back({done, static_cast<Why>(answers[i].reason), done ? std::string() : base::visible(text)});
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
