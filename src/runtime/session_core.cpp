#include "runtime/session_core.hpp"

#include <algorithm>
#include <bit>

#include "runtime/tensor_access.hpp"

namespace backplane::runtime {

namespace {

plan::Kind kind_of(Role role) {
    switch (role) {
        case Role::input: return plan::Kind::input;
        case Role::output: return plan::Kind::output;
        case Role::weight: return plan::Kind::weight;
        case Role::state: return plan::Kind::state;
        default: return plan::Kind::boundary;
    }
}

std::vector<size_t> all_nodes(const Graph& graph) {
    std::vector<size_t> nodes(graph.nodes().size());
    for (size_t n = 0; n < nodes.size(); ++n) nodes[n] = n;
    return nodes;
}

}  // namespace

std::string counted_ops(const Graph& graph, const std::vector<size_t>& nodes) {
    std::map<Op, size_t> of;
    for (const size_t n : nodes) ++of[graph.nodes()[n].op];
    std::map<std::string, size_t> counts;
    for (const auto& [op, count] : of) counts[name_of(op)] += count;
    std::string text;
    for (const auto& [name, count] : counts)
        text += (text.empty() ? "" : ", ") + name + (count == 1 ? "" : " x " + std::to_string(count));
    return text;
}

SessionCore::SessionCore(const std::vector<Device>& devices, const Graph& graph, const Weights& weights,
                         std::vector<PlannedPart> parts, const CoreOptions& options)
    : graph_(graph),
      weights_(WeightsAccess::state_of(weights)),
      parts_(std::move(parts)),
      pieces_(parts_.size()),
      plans_kept_(options.plans_kept),
      values_(graph.tensors().size(), kNoValue) {
    for (const Device& device : devices) ports_.push_back(plan::Port::of(device));
    how_ = {options.compile.plan_only, static_cast<uint32_t>(options.compile.math), options.compile.workspace_limit,
            options.compile.cancel};
    if (parts_.size() > 1) {
        std::vector<std::vector<size_t>> nodes;
        for (const PlannedPart& part : parts_) nodes.push_back(part.nodes);
        std::vector<PartGraph> made = part_graphs(graph_, nodes);
        std::move(made.begin(), made.end(), pieces_.begin());
    }
    plan::Plan made = make_plan(options);
    for (uint32_t t = 0; t < graph_.tensors().size(); ++t) {
        const TensorInfo& tensor = graph_.tensors()[t];
        std::vector<Named>* const into = tensor.role == Role::input    ? &inputs_
                                         : tensor.role == Role::output ? &outputs_
                                         : tensor.role == Role::state  ? &states_
                                                                       : nullptr;
        if (into == nullptr || tensor.state_in != 0) continue;
        const TensorId id{t};
        into->push_back({tensor.name, id, value_of(made, id), bytes(tensor.dtype, tensor.shape)});
    }
    executor_ = std::make_unique<plan::Executor>(
        std::move(made), ports_, [this](uint32_t stage, uint32_t port) { return program(stage, port); },
        [this](uint32_t, uint32_t stage, const std::shared_ptr<const plan::Program>& program, uint32_t slot) {
            const TensorId tensor{program->facts().slots[slot].tensor};
            if (!is_origin_of(origin_, graph_of(stage), program)) origin_ = origin_of(*weights_, graph_of(stage), program);
            return image_of(weights_, origin_, tensor, program, slot,
                            parts_[stage].streamed.contains(whole_of(stage, tensor.index).index));
        },
        weights_->session_holder);
    executor_->hand_over_memory(options.memory_moves);
    if (options.admit) options.admit(executor_->plan());
    if (!how_.plan_only && options.bring) executor_->prepare(options.elsewhere);
    how_.cancel = nullptr;  // it was for making this
    if (parts_.size() == 1 && compiled_.size() == 1) first_ = compiled_.begin()->second;
    compiled_.clear();  // the executor has what is used
}

SessionCore::~SessionCore() = default;

// Where a weight of this name and size is, or would be.
SessionCore::KnownWeight& SessionCore::known_weight(std::string_view name, uint64_t bytes) {
    if (known_weights_.empty()) {
        const auto weights = std::ranges::count(graph_.tensors(), Role::weight, &TensorInfo::role);
        known_weights_.resize(std::bit_ceil(2 * static_cast<size_t>(weights) + 1));
    }
    const size_t mask = known_weights_.size() - 1;
    for (size_t at = std::hash<std::string_view>()(name) + bytes;; ++at) {
        KnownWeight& one = known_weights_[at & mask];
        if (one.value != kNoValue && (one.bytes != bytes || one.name != name)) continue;
        one.name = name;
        one.bytes = bytes;
        return one;
    }
}

uint32_t SessionCore::value_of(plan::Plan& plan, TensorId whole) {
    const TensorInfo& tensor = graph_[whole];
    uint32_t& value = values_[whole.index];
    if (value != kNoValue) return value;
    const uint64_t size = bytes(tensor.dtype, tensor.shape);
    value = static_cast<uint32_t>(plan.values.size());
    if (tensor.role == Role::weight) {
        // A weight that a graph has several times, for each step of a cell that is written out, is on the device once.
        KnownWeight& known = known_weight(tensor.name, size);
        if (known.value != kNoValue) return value = known.value;
        known.value = value;
    }
    plan.values.push_back({tensor.name.empty() ? part_name(whole) : tensor.name, kind_of(tensor.role), size});
    return value;
}

// What a program of the part may want bound, by the tensors of the part's own graph.
void SessionCore::add_values(plan::Plan& plan, plan::Stage& stage, uint32_t part) {
    const Graph& graph = graph_of(part);
    std::vector<bool> written(graph.tensors().size(), false);
    for (const Node& node : graph.nodes())
        for (const TensorId t : node.outputs) written[t.index] = true;
    for (uint32_t t = 0; t < graph.tensors().size(); ++t) {
        const Role role = graph.tensors()[t].role;
        if (role != Role::weight && role != Role::input && role != Role::output && role != Role::state) continue;
        TensorId whole = whole_of(part, t);
        // The new state of a tensor is the state itself, where one part alone reads and writes it.
        if (role == Role::state && graph_[whole].state_in != 0) whole.index = graph_[whole].state_in - 1;
        stage.uses.push_back({t, value_of(plan, whole), written[t], parts_[part].streamed.contains(whole.index)});
    }
}

plan::Plan SessionCore::make_plan(const CoreOptions& options) {
    plan::Plan made;
    made.frames = options.frames;
    bool peers = false;
    for (uint32_t p = 0; p < ports_.size(); ++p) {
        made.ports.push_back(ports_[p]->name());
        uint32_t first = 0;
        while (first < p && !ports_[p]->reaches(*ports_[first])) ++first;
        peers |= first < p;
        made.fabric.push_back(first);
    }
    if (!peers) made.fabric.clear();
    for (uint32_t p = 0; p < parts_.size(); ++p) {
        plan::Stage stage;
        stage.name = "part " + std::to_string(p + 1);
        stage.ports = parts_[p].devices;
        const std::vector<size_t> nodes = parts_[p].nodes.empty() ? all_nodes(graph_) : parts_[p].nodes;
        stage.nodes = nodes.size();
        stage.ops = counted_ops(graph_, nodes);
        if (parts_[p].sum) stage.sum = static_cast<uint32_t>(*parts_[p].sum);
        add_values(made, stage, p);
        try {
            const auto made_program =
                weights_->programs.get(ports_[stage.ports.front()], graph_, graph_of(p), how_, plans_kept_);
            compiled_[{p, stage.ports.front()}] = made_program;
            stage.workspace = made_program->facts().workspace_bytes;
            std::vector<uint64_t> bytes_of(graph_of(p).tensors().size());  // of the slot, by tensor
            for (const plan::ProgramSlot& slot : made_program->facts().slots) bytes_of[slot.tensor] = slot.bytes;
            for (const plan::SlotUse& use : stage.uses)
                if (bytes_of[use.tensor] != 0 && made.values[use.value].kind == plan::Kind::weight)
                    made.values[use.value].bytes = bytes_of[use.tensor];
        } catch (const Error& error) {
            // The executor meets it again, and knows what to do.
            if (error.code() != Code::device_lost && error.code() != Code::no_device_memory) throw;
            compiled_.erase({p, stage.ports.front()});
        }
        made.stages.push_back(std::move(stage));
    }
    // A state that several parts touch is a value like others within a run, and its new value takes its place at the end.
    for (uint32_t t = 0; t < graph_.tensors().size(); ++t) {
        const uint32_t of = graph_.tensors()[t].state_in;
        if (of == 0 || values_[t] == kNoValue) continue;
        made.values[values_[t]].kind = plan::Kind::boundary;
        made.carried.push_back({value_of(made, TensorId{of - 1}), values_[t]});
    }
    return made;
}

std::shared_ptr<const plan::Program> SessionCore::program(uint32_t part, uint32_t port) {
    const auto found = compiled_.find({part, port});
    if (found != compiled_.end()) return found->second;
    return weights_->programs.get(ports_[port], graph_, graph_of(part), how_, plans_kept_);
}

// ---- names ----

const SessionCore::Named& SessionCore::named(const std::vector<Named>& all, const char* what, std::string_view name) const {
    for (const Named& one : all)
        if (one.name == name) return one;
    std::string there;
    for (const Named& one : all) there += (there.empty() ? "'" : ", '") + one.name + "'";
    throw Error(Code::not_found, std::string("the graph has no ") + what + " '" + std::string(name) +
                                     "'; it has: " + (there.empty() ? "none" : there));
}

void SessionCore::check(const Named& port, const char* what, uint64_t given, const Tensor* tensor) const {
    const TensorInfo& info = graph_[port.tensor];
    if (tensor != nullptr && *tensor && (tensor->dtype() != info.dtype || tensor->shape() != info.shape))
        throw Error(Code::invalid, std::string(what) + " '" + port.name + "': a tensor of " + name_of(tensor->dtype()) +
                                       " " + to_string(tensor->shape()) + " given, it is " + name_of(info.dtype) + " " +
                                       to_string(info.shape));
    if (tensor == nullptr && given != port.bytes)
        throw Error(Code::invalid, std::string(what) + " '" + port.name + "': " + std::to_string(given) + " bytes given, " +
                                       name_of(info.dtype) + " " + to_string(info.shape) + " has " +
                                       std::to_string(port.bytes));
}

void SessionCore::place(std::span<const Input> inputs, std::span<const Output> outputs) {
    if (inputs.size() != inputs_.size() || outputs.size() != outputs_.size()) {
        std::string in, out;
        for (const Named& one : inputs_) in += (in.empty() ? "'" : ", '") + one.name + "'";
        for (const Named& one : outputs_) out += (out.empty() ? "'" : ", '") + one.name + "'";
        throw Error(Code::invalid, "cannot run: " + std::to_string(inputs.size()) + " inputs and " +
                                       std::to_string(outputs.size()) + " outputs given, the graph has inputs " +
                                       (in.empty() ? "none" : in) + " and outputs " + (out.empty() ? "none" : out));
    }
    given_.clear();
    wanted_.clear();
    for (const Input& input : inputs) {
        const Named& port = named(inputs_, "input", input.name);
        for (const plan::Given& given : given_)
            if (given.value == port.value) throw Error(Code::invalid, "input '" + port.name + "' is given twice");
        check(port, "input", input.bytes.size(), input.tensor ? &input.tensor : nullptr);
        given_.push_back({port.value, input.bytes, input.tensor ? TensorAccess::at(input.tensor) : plan::Located{}});
    }
    for (const Output& output : outputs) {
        const Named& port = named(outputs_, "output", output.name);
        for (const plan::Wanted& wanted : wanted_)
            if (wanted.value == port.value) throw Error(Code::invalid, "output '" + port.name + "' is wanted twice");
        check(port, "output", output.bytes.size(), output.tensor);
        plan::Located target;
        if (output.tensor != nullptr && *output.tensor) target = TensorAccess::at(*output.tensor);
        wanted_.push_back({port.value, output.bytes, std::move(target)});
    }
}

void SessionCore::run(std::span<const Input> inputs, std::span<const Output> outputs, const std::atomic<uint32_t>* cancel) {
    for (const Output& output : outputs)
        if (output.tensor != nullptr) return plan::Event(submit(inputs, outputs, cancel)).wait();
    place(inputs, outputs);
    executor_->run(given_, wanted_, cancel);
}

std::shared_ptr<plan::Flight> SessionCore::submit(std::span<const Input> inputs, std::span<const Output> outputs,
                                                  const std::atomic<uint32_t>* cancel) {
    place(inputs, outputs);
    const plan::Event event = executor_->submit(given_, wanted_, cancel);
    for (size_t i = 0; i < outputs.size(); ++i) {
        if (outputs[i].tensor == nullptr || *outputs[i].tensor) continue;
        const TensorInfo& info = graph_[named(outputs_, "output", outputs[i].name).tensor];
        if (plan::Located at = event.result(wanted_[i].value); at.bytes)
            *outputs[i].tensor = TensorAccess::make(std::move(at), info.dtype, info.shape);
    }
    return event.flight();
}

Tensor SessionCore::state(std::string_view name) {
    const Named& port = named(states_, "state", name);
    const TensorInfo& info = graph_[port.tensor];
    return TensorAccess::make(executor_->state(port.value), info.dtype, info.shape);
}

void SessionCore::set_state(std::string_view name, const Tensor& tensor) {
    const Named& port = named(states_, "state", name);
    if (!tensor) throw Error(Code::invalid, "state '" + port.name + "': no tensor given");
    check(port, "state", 0, &tensor);
    executor_->set_state(port.value, TensorAccess::at(tensor));
}

SessionCore::States SessionCore::states() {
    States all;
    for (const Named& one : states_)
        if (plan::Located at = executor_->state_if_any(one.value); at.bytes) all.emplace(one.name, std::move(at));
    return all;
}

void SessionCore::take(const States& states) {
    for (const auto& [name, at] : states) executor_->set_state(named(states_, "state", name).value, at);
}

}  // namespace backplane::runtime
