#include "backplane/pipeline.hpp"

#include <algorithm>
#include <deque>
#include <exception>
#include <mutex>
#include <utility>

#include "runtime/device_order.hpp"
#include "runtime/layers.hpp"
#include "runtime/pipeline_impl.hpp"
#include "runtime/spread/cut.hpp"

namespace backplane {

namespace {

using Port = runtime::PipelinePort;
using Part = runtime::PipelinePart;

std::vector<Port> ports_of(const Graph& graph, const std::vector<TensorId>& whole_of, const Graph& whole, Role role) {
    std::vector<Port> all;
    for (const TensorId id : graph.with_role(role)) {
        const TensorId there = whole_of.empty() ? id : whole_of[id.index];
        all.push_back({graph[id].name, there, whole[there].role == role ? whole[there].name : std::string()});
    }
    return all;
}

bool goes_on(const Error& error) { return error.code() == Code::device_lost || error.code() == Code::no_device_memory; }

}  // namespace

Pipeline::Pipeline(const std::vector<Device>& devices, size_t parts, const Graph& graph, const Weights& weights,
                   const SessionOptions& options)
    : impl_(std::make_unique<Impl>()) {
    if (parts == 0 || devices.size() < parts)
        throw Error(Code::invalid, "cannot make a pipeline of " + std::to_string(parts) + " parts on " +
                                       std::to_string(devices.size()) + " devices: give each part a device");
    for (size_t lane = 0; lane < parts; ++lane) impl_->lane_ends.emplace_back(0);
    if (parts == 1) {
        Session session(devices, graph, weights, options);
        const Graph& whole = session.graph();  // with rows: with inputs in parts
        auto inputs = ports_of(whole, {}, whole, Role::input), outputs = ports_of(whole, {}, whole, Role::output);
        impl_->parts.emplace_back(devices.front(), std::move(session), std::move(inputs), std::move(outputs));
        return;
    }
    if (options.rows > 1 || !options.device_of.empty())
        throw Error(Code::invalid,
                    "parts of a pipeline have a device each: give rows of products, and nodes that are placed "
                    "one by one, one part");
    if (!graph.with_role(Role::state).empty())
        throw Error(Code::unsupported,
                    "cannot make a pipeline of a graph with state: a batch would read what the one before it "
                    "has not written yet; make it a Session");
    const auto some = [](double share) { return share > 0 && share <= 1; };
    if (!options.shares.empty() && (options.shares.size() != parts || !std::ranges::all_of(options.shares, some)))
        throw Error(Code::invalid, "a pipeline's parts have a share of the work each, above 0 and up to 1: " +
                                       std::to_string(options.shares.size()) + " are given for " + std::to_string(parts) +
                                       " parts");
    const size_t rounds = options.rounds != 0 ? options.rounds : runtime::rounds_of(graph, parts);
    if (graph.nodes().size() < parts * rounds)
        throw Error(Code::invalid, "cannot cut a graph of " + std::to_string(graph.nodes().size()) + " nodes into " +
                                       std::to_string(parts * rounds) + " parts");
    std::vector<double> shares;
    for (size_t p = 0; p < parts * rounds; ++p)
        shares.push_back((options.shares.empty() ? 1 / static_cast<double>(parts) : options.shares[p % parts]) /
                         static_cast<double>(rounds));
    const auto cut = runtime::layers(graph, shares);
    const std::vector<runtime::PartGraph> pieces = runtime::part_graphs(graph, cut);
    for (size_t p = 0; p < pieces.size(); ++p) {
        const runtime::PartGraph& piece = pieces[p];
        const size_t lane = p % parts;
        impl_->parts.emplace_back(devices[lane], Session(runtime::with_first(devices, lane), piece.graph, weights, options),
                                  ports_of(piece.graph, piece.whole, graph, Role::input),
                                  ports_of(piece.graph, piece.whole, graph, Role::output));
        impl_->parts.back().lane = lane;
        impl_->parts.back().round = p / parts;
        impl_->times.add_part(devices[lane]);
        for (const Port& port : impl_->parts.back().inputs)
            if (port.given.empty()) impl_->between += bytes(graph[port.whole].dtype, graph[port.whole].shape);
    }
}
Pipeline::~Pipeline() = default;
Pipeline::Pipeline(Pipeline&&) noexcept = default;
Pipeline& Pipeline::operator=(Pipeline&&) noexcept = default;

Pipeline::Pass Pipeline::start(std::span<const Input> inputs, const std::atomic<uint32_t>* cancel) {
    Pass pass;
    pass.state_ = std::make_unique<Pass::State>();
    Pass::State& state = *pass.state_;
    state.inputs.assign(inputs.begin(), inputs.end());
    for (const Input& input : inputs) state.names.emplace_back(input.name);
    state.cancel = cancel;
    state.ends = std::make_shared<runtime::PartEnds>(impl_->parts.size());
    impl_->check(state);
    if (impl_->by_threads()) impl_->start(state);
    return pass;
}

void Pipeline::finish(Pass& pass, std::span<const Output> outputs) {
    if (pass.state_ && impl_->by_threads()) impl_->check(outputs);
    const std::unique_ptr<Pass::State> state = std::move(pass.state_);
    if (!state) throw Error(Code::invalid, "the pass is finished, or was never started");
    std::deque<Part>& parts = impl_->parts;
    if (!impl_->by_threads()) return parts[0].session.run(impl_->inputs_of(0, *state), outputs, state->cancel);
    state->wait();
    try {
        if (state->error) std::rethrow_exception(state->error);
        for (size_t p = 0; p < state->events.size(); ++p) {
            state->events[p].wait();
            state->ends->ended(p, impl_->last_of(p));
        }
        impl_->times.add(*state->ends);
        for (const Event& event : state->events) impl_->peer += event.bytes_peer();
        impl_->give_back(*state);
        impl_->hand_out(*state, outputs);
    } catch (const Error& error) {
        state->settle();
        if (!goes_on(error)) throw;
        impl_->by_host(*state, outputs);
    }
}

void Pipeline::hand_over_early() { impl_->early = true; }
void Pipeline::settle() { impl_->settle(); }

size_t Pipeline::parts() const noexcept { return impl_->parts.size(); }

size_t Pipeline::part_of(std::string_view input) const {
    for (size_t p = 0; p < impl_->parts.size(); ++p)
        for (const Port& port : impl_->parts[p].inputs)
            if (port.given == input) return p;
    throw Error(Code::not_found, "the graph has no input '" + std::string(input) + "' that is read");
}

bool Pipeline::reads(std::string_view input) const noexcept {
    return std::ranges::any_of(impl_->parts, [&](const Part& part) {
        return std::ranges::any_of(part.inputs, [&](const Port& port) { return port.given == input; });
    });
}

std::vector<std::string> Pipeline::notes() const {
    std::vector<std::string> all;
    for (Part& part : impl_->parts) {
        const std::lock_guard lock(part.mutex);
        for (std::string& note : part.session.notes())
            if (std::find(all.begin(), all.end(), note) == all.end()) all.push_back(std::move(note));
    }
    return all;
}

std::string Pipeline::describe() const {
    std::string text;
    for (size_t p = 0; p < impl_->parts.size(); ++p) {
        if (impl_->parts.size() > 1)
            text += "layers " + std::to_string(p + 1) + " of " + std::to_string(impl_->parts.size()) + ":\n";
        const std::lock_guard lock(impl_->parts[p].mutex);
        text += impl_->parts[p].session.describe();
    }
    if (impl_->parts.size() == 1) return text;
    return text + "between the parts, a pass: " + std::to_string(impl_->between) + " bytes; so far " +
           std::to_string(impl_->peer) + " bytes went from device to device without the host\n";
}

std::vector<std::string> Pipeline::plans_json() const {
    std::vector<std::string> all;
    for (Part& part : impl_->parts) {
        const std::lock_guard lock(part.mutex);
        all.push_back(part.session.plan_json());
    }
    return all;
}

std::vector<StageRuns> Pipeline::runs() const {
    std::vector<StageRuns> all;
    for (Part& part : impl_->parts) {
        const std::lock_guard lock(part.mutex);
        for (StageRuns& runs : part.session.runs()) all.push_back(std::move(runs));
    }
    return all;
}

std::vector<PartTime> Pipeline::times() const { return impl_->times.all(); }

uint64_t Pipeline::bytes_peer() const noexcept { return impl_->peer; }

}  // namespace backplane
