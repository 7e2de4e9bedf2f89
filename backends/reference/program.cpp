#include "program.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "graph/evaluate.hpp"
#include "graph/from_abi.hpp"

namespace backplane::reference {

namespace {

[[noreturn]] void invalid(const std::string& why) { throw Error(Code::invalid, why); }

std::vector<int64_t> least_symbols(const sdk::GraphView& graph) {
    std::vector<int64_t> least;
    for (uint32_t i = 0; i < graph.symbols(); ++i) {
        const bp_symbol s = graph.symbol(i);
        const int64_t multiple = s.multiple_of == 0 ? 1 : s.multiple_of;
        least.push_back((s.least + multiple - 1) / multiple * multiple);
    }
    return least;
}

// A tensor the host binds. One that updates a state in place has no memory of its own: it ends in the state's.
bool is_bound(const TensorInfo& t) {
    return t.role == Role::input || t.role == Role::output || t.role == Role::weight ||
           (t.role == Role::state && t.state_in == 0);
}

// Bytes that a node writes and only moves; of a state that it updates in place those that it puts in.
uint64_t moved_by(const Graph& graph, const Node& node) {
    if (!graph::find_op(node.op)->description.moves) return 0;
    if (graph::is_update_in_place(graph, node)) return bytes(graph[node.inputs[1]].dtype, graph[node.inputs[1]].shape);
    uint64_t sum = 0;
    for (const TensorId output : node.outputs) sum += bytes(graph[output].dtype, graph[output].shape);
    return sum;
}

std::vector<int64_t> read_symbols(const bp_span& span) {
    if (span.count != 0 && (span.first == nullptr || span.stride < sizeof(int64_t)))
        invalid("run: the symbol values have no memory");
    std::vector<int64_t> values(span.count);
    for (uint32_t i = 0; i < span.count; ++i) std::memcpy(&values[i], BP_AT(char, &span, i), sizeof(int64_t));
    return values;
}

}  // namespace

void Device::query(const bp_graph& graph, const bp_array& answers) {
    graph::check_ranges(&graph);
    const sdk::GraphView view(&graph);
    if (view.nodes() != 0 && (answers.first == nullptr || answers.count < view.nodes()))
        invalid("query: there is room for " + std::to_string(answers.count) + " answers, the graph has " +
                std::to_string(view.nodes()) + " nodes");
    const std::vector<uint32_t> at_most = graph::why_not(&graph);
    const std::vector<uint32_t> at_least = view.symbols() != 0 ? graph::why_not(&graph, least_symbols(view)) : at_most;
    for (uint32_t i = 0; i < view.nodes(); ++i) {
        bp_answer answer{};
        answer.reason = at_most[i];
        // Good at its largest but not at its smallest: only symbols can be the reason.
        if (answer.reason == BP_WHY_NONE && at_least[i] != BP_WHY_NONE) answer.reason = BP_WHY_SYMBOLIC;
        answer.code = answer.reason == BP_WHY_NONE ? BP_OK : BP_UNSUPPORTED;
        sdk::write(BP_AT_OUT(bp_answer, &answers, i), answer);
    }
}

Program::Program(Device& device, const bp_graph& graph, const bp_compile& how)
    : device_(device), plan_only_((how.flags & BP_COMPILE_PLAN_ONLY) != 0) {
    device.queues.expect_there("compile");
    if (backend::raised(how.cancel)) throw Error(Code::cancelled, "compile was cancelled");
    graph_ = std::make_shared<const Graph>(graph::graph_from_abi(&graph));
    const sdk::GraphView view(&graph);
    if (view.symbols() != 0) {
        try {
            static_cast<void>(graph::graph_from_abi(&graph, least_symbols(view)));
        } catch (const Error& e) {
            throw Error(Code::unsupported,
                        std::string("the graph does not hold at the least value of its symbols: ") + e.what());
        }
        symbolic_ = std::make_unique<GraphCopy>(graph);
    }
    list_slots();
    summary_ = std::to_string(graph_->nodes().size()) + " nodes one after the other in float64, nothing fused";
}

void Program::list_slots() {
    std::vector<bool> used(graph_->tensors().size()), updated(used.size());
    for (const Node& node : graph_->nodes()) {
        for (const TensorId id : node.inputs)
            if (id.valid()) used[id.index] = true;
        for (const TensorId id : node.outputs) used[id.index] = true;
    }
    for (const TensorInfo& t : graph_->tensors())
        if (t.state_in != 0) used[t.state_in - 1] = updated[t.state_in - 1] = true;
    for (uint32_t i = 0; i < used.size(); ++i) {
        const TensorInfo& t = graph_->tensors()[i];
        if (!used[i] || !is_bound(t)) continue;
        bp_slot slot{};
        slot.struct_size = BP_SIZE(bp_slot, last_use);
        slot.tensor = i;
        slot.bytes = bytes(t.dtype, t.shape);
        slot.alignment = 1;
        // A backend that wants weights in a form of its own states a number here and offers pack().
        slot.layout = 0;
        // Two steps: everything is read and computed, then everything is written.
        slot.first_use = t.role == Role::output ? 2 : 1;
        slot.last_use = t.role == Role::output || updated[i] ? 2 : 1;
        slots_.push_back(slot);
    }
}

bp_program_info Program::info() const {
    bp_program_info info{};
    info.workspace_alignment = 1;
    for (const TensorInfo& t : graph_->tensors()) info.resident_bytes += t.data.size();
    info.slots = {slots_.data(), static_cast<uint32_t>(slots_.size()), sizeof(bp_slot)};
    info.kernels = 2;
    info.summary = summary_.c_str();
    for (const Node& node : graph_->nodes()) info.moved_bytes += moved_by(*graph_, node);
    return info;
}

struct Program::Bound {
    std::vector<graph::TensorBytes> inputs;
    std::vector<graph::TensorRoom> outputs;
};

// Checks every binding before anything runs, so that a refused run has written nothing.
Program::Bound Program::bind(const Graph& graph, const bp_run& request) const {
    std::vector<bp_slot> slots = slots_;  // of the sizes that symbols have now
    for (bp_slot& slot : slots) slot.bytes = bytes(graph[{slot.tensor}].dtype, graph[{slot.tensor}].shape);
    const std::vector<bp_binding> bindings = backend::bindings_of(request, slots, buffer_of);
    std::vector<std::byte*> memory(graph.tensors().size());
    Bound all;
    for (size_t i = 0; i < slots.size(); ++i) {
        const uint32_t tensor = slots[i].tensor;
        memory[tensor] = buffer_of(bindings[i].buffer)->data + bindings[i].offset;
        const std::span<std::byte> room(memory[tensor], slots[i].bytes);
        if (graph[{tensor}].role != Role::output) all.inputs.push_back({{tensor}, room});
        if (slots[i].last_use == 2) all.outputs.push_back({{tensor}, room});
    }
    check_overlaps(memory);
    return all;
}

// What is written may share bytes with what is read alone: everything is read before anything is written.
void Program::check_overlaps(const std::vector<std::byte*>& memory) const {
    for (const bp_slot& written : slots_) {
        const std::byte* begin = memory[written.tensor];
        for (const bp_slot& other : slots_) {
            const std::byte* from = memory[other.tensor];
            const bool apart =
                written.bytes == 0 || other.bytes == 0 || begin + written.bytes <= from || from + other.bytes <= begin;
            if (written.last_use != 2 || other.last_use != 2 || &written == &other || apart) continue;
            invalid("run: tensor " + std::to_string(written.tensor) + " is written over tensor " +
                    std::to_string(other.tensor) + ", which is in use meanwhile; bind them to bytes of their own");
        }
    }
}

// Replace this with your kernels. The oracle reads all inputs, keeps what lies between in memory of its own, and writes
// outputs and states at the end: a state is read as it was before the run by every node, wherever in the list its
// update stands.
void Program::compute(const Graph& graph, const Bound& bound, const volatile uint32_t* cancel) const {
    try {
        device_.queues.begin_run();
        graph::evaluate(graph, bound.inputs, bound.outputs, cancel);
    } catch (const Error& e) {  // the outcome of a point is the module's own kind of error
        throw sdk::Failure(static_cast<bp_code>(e.code()), e.what());
    }
}

void Program::run(const bp_run& request) const {
    if (plan_only_) invalid("run: the program was compiled with BP_COMPILE_PLAN_ONLY; compile it without to run it");
    if (request.queue >= Device::kQueues)
        invalid("run: queue " + std::to_string(request.queue) + " does not compute, queue 0 does");
    const std::vector<int64_t> symbols = read_symbols(request.symbols);
    if (symbolic_ == nullptr && !symbols.empty()) invalid("run: symbol values given, but the graph has no symbols");
    if (symbolic_ != nullptr && symbols.empty()) invalid("run: the graph has symbols, but no values are given");
    // Sizes are known now. A backend that runs often would keep what it derives here, by symbol values.
    const std::shared_ptr<const Graph> graph =
        symbolic_ == nullptr ? graph_ : std::make_shared<const Graph>(graph::graph_from_abi(symbolic_->get(), symbols));
    device_.queues.submit(
        {"run", request.queue, request.wait, request.signal, request.cancel},
        [this, graph, bound = bind(*graph, request), cancel = request.cancel] { compute(*graph, bound, cancel); });
}

}  // namespace backplane::reference
