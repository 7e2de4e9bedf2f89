#include "program.hpp"

#include <cstring>
#include <utility>

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
bool is_bound(const Tensor& t) {
    return t.role == Role::input || t.role == Role::output || t.role == Role::weight ||
           (t.role == Role::state && t.state_in == 0);
}

std::vector<int64_t> read_symbols(const bp_span& span) {
    if (span.count != 0 && (span.first == nullptr || span.stride < sizeof(int64_t)))
        invalid("run: the symbol values have no memory");
    std::vector<int64_t> values(span.count);
    for (uint32_t i = 0; i < span.count; ++i) std::memcpy(&values[i], BP_AT(char, &span, i), sizeof(int64_t));
    return values;
}

}  // namespace

void query(const bp_graph& graph, const bp_array& answers) {
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

Program::Program(const bp_graph& graph, const bp_compile& how) : plan_only_((how.flags & BP_COMPILE_PLAN_ONLY) != 0) {
    if (how.cancel != nullptr && *how.cancel != 0) throw Error(Code::cancelled, "compile was cancelled");
    graph_ = graph::graph_from_abi(&graph);
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
    summary_ = std::to_string(graph_.nodes().size()) + " nodes one after the other in float64, nothing fused";
}

void Program::list_slots() {
    std::vector<bool> used(graph_.tensors().size());
    for (const Node& node : graph_.nodes()) {
        for (const TensorId id : node.inputs)
            if (id.valid()) used[id.index] = true;
        for (const TensorId id : node.outputs) used[id.index] = true;
    }
    for (const Tensor& t : graph_.tensors())
        if (t.state_in != 0) used[t.state_in - 1] = true;
    for (uint32_t i = 0; i < used.size(); ++i) {
        const Tensor& t = graph_.tensors()[i];
        if (!used[i] || !is_bound(t)) continue;
        bp_slot slot{};
        slot.struct_size = BP_SIZE(bp_slot, last_use);
        slot.tensor = i;
        slot.bytes = bytes(t.dtype, t.shape);
        slot.alignment = 1;
        // A backend that wants weights in a form of its own states a number here and offers pack().
        slot.layout = 0;
        slots_.push_back(slot);
    }
}

bp_program_info Program::info() const {
    bp_program_info info{};
    info.workspace_alignment = 1;
    for (const Tensor& t : graph_.tensors()) info.resident_bytes += t.data.size();
    info.slots = {slots_.data(), static_cast<uint32_t>(slots_.size()), sizeof(bp_slot)};
    info.summary = summary_.c_str();
    return info;
}

struct Program::Bound {
    std::vector<graph::TensorBytes> inputs;
    std::vector<graph::TensorRoom> outputs;
};

// Checks every binding before anything runs, so that a refused run has written nothing.
Program::Bound Program::bind(const Graph& graph, const bp_run& request) const {
    const bp_span& span = request.bindings;
    if (span.count != 0 && (span.first == nullptr || span.stride < sizeof(uint32_t)))
        invalid("run: the bindings have no memory");
    std::vector<std::byte*> memory(graph.tensors().size());
    std::vector<bool> wanted(memory.size());
    std::vector<bool> bound(memory.size());
    for (const bp_slot& slot : slots_) wanted[slot.tensor] = true;
    for (uint32_t i = 0; i < span.count; ++i) {
        const bp_binding b = sdk::read(BP_AT(bp_binding, &span, i));
        const std::string what = "run: binding of tensor " + std::to_string(b.tensor) + ": ";
        if (b.tensor >= wanted.size() || !wanted[b.tensor]) invalid(what + "the program has no such slot");
        if (bound[b.tensor]) invalid(what + "it is bound twice");
        if (b.buffer == nullptr) invalid(what + "no buffer given");
        const auto& buffer = *reinterpret_cast<const Buffer*>(b.buffer);
        const Tensor& t = graph[{b.tensor}];
        const uint64_t size = bytes(t.dtype, t.shape);
        if (b.bytes < size)
            invalid(what + std::to_string(b.bytes) + " bytes given, " + name_of(t.dtype) + " " + to_string(t.shape) +
                    " needs " + std::to_string(size));
        if (!buffer.contains(b.offset, b.bytes))
            invalid(what + std::to_string(b.bytes) + " bytes at " + std::to_string(b.offset) +
                    " lie outside the buffer of " + std::to_string(buffer.size));
        memory[b.tensor] = buffer.data + b.offset;
        bound[b.tensor] = true;
    }
    Bound all;
    for (const bp_slot& slot : slots_) {
        const Tensor& t = graph[{slot.tensor}];
        if (!bound[slot.tensor]) invalid("run: tensor " + std::to_string(slot.tensor) + " '" + t.name + "' is not bound");
        const std::span<std::byte> room(memory[slot.tensor], bytes(t.dtype, t.shape));
        if (t.role != Role::output) all.inputs.push_back({{slot.tensor}, room});
        if (t.role == Role::output || t.role == Role::state) all.outputs.push_back({{slot.tensor}, room});
    }
    return all;
}

// Replace this with your kernels. The oracle reads all inputs, keeps what lies between in memory of its own, and writes
// outputs and states at the end: a state is read as it was before the run by every node, wherever in the list its
// update stands.
void Program::compute(const Graph& graph, const Bound& bound, const volatile uint32_t* cancel) {
    graph::evaluate(graph, bound.inputs, bound.outputs, cancel);
}

void Program::run(const bp_run& request) const {
    if (plan_only_) invalid("run: the program was compiled with BP_COMPILE_PLAN_ONLY; compile it without to run it");
    if (request.wait.count != 0 || request.signal.fence != nullptr)
        invalid("run: this device has no fences to wait for or to signal");
    const std::vector<int64_t> symbols = read_symbols(request.symbols);
    if (symbolic_ == nullptr) {
        if (!symbols.empty()) invalid("run: symbol values given, but the graph has no symbols");
        compute(graph_, bind(graph_, request), request.cancel);
        return;
    }
    if (symbols.empty()) invalid("run: the graph has symbols, but no values are given");
    // Sizes are known now. A backend that runs often would keep what it derives here, by symbol values.
    const Graph sized = graph::graph_from_abi(symbolic_->get(), symbols);
    compute(sized, bind(sized, request), request.cancel);
}

}  // namespace backplane::reference
