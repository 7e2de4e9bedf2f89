#include <algorithm>

#include "runtime/fitted_core.hpp"
#include "runtime/rows.hpp"

namespace backplane {

struct Session::Impl {
    runtime::FittedCore core;
    Program program;

    Impl(const std::vector<Device>& devices, const Graph& graph, const Weights& weights,
         const runtime::FittedOptions& options)
        : core(devices, graph, weights, options) {}
};

namespace {

void check_support(const std::vector<Device>& devices, const runtime::RowGraph& rows, uint32_t count) {
    for (uint32_t k = 0; k < count; ++k) {
        const std::vector<NodeSupport> support = query(devices[k], rows.graph);
        for (size_t n = 0; n < support.size(); ++n)
            if (rows.device_of[n] == k && !support[n].supported)
                throw Error(Code::unsupported, devices[k].info().id + " does not support " +
                                                   name_of(rows.graph.nodes()[n].op) + " (" + support[n].text +
                                                   "): give parts of a run to devices that run all of the graph");
    }
}

runtime::RowGraph row_graph_for(const std::vector<Device>& devices, const Graph& graph, const SessionOptions& options) {
    if (devices.size() < options.rows)
        throw Error(Code::invalid, "cannot put rows of products on " + std::to_string(options.rows) +
                                       " devices: " + std::to_string(devices.size()) + " are given");
    if (options.budget != 0 || options.streaming == Streaming::always)
        throw Error(Code::invalid,
                    "rows of products on several devices go without a budget and without streaming: leave one "
                    "of them out");
    runtime::RowGraph rows = runtime::row_graph(graph, options.rows);
    check_support(devices, rows, options.rows);
    return rows;
}

runtime::RowGraph placed_graph(const std::vector<Device>& devices, const Graph& graph, const SessionOptions& options) {
    const std::vector<uint32_t>& of = options.device_of;
    if (of.size() != graph.nodes().size())
        throw Error(Code::invalid, "a device is given for " + std::to_string(of.size()) + " nodes, the graph has " +
                                       std::to_string(graph.nodes().size()));
    if (const uint32_t most = *std::ranges::max_element(of); most >= devices.size())
        throw Error(Code::invalid, "cannot put nodes on device " + std::to_string(most + 1) + " of " +
                                       std::to_string(devices.size()) + " that are given");
    if (options.budget != 0 || options.streaming == Streaming::always || options.rows > 1)
        throw Error(Code::invalid,
                    "nodes that are placed one by one go without a budget, streaming and rows of products: leave one of "
                    "them out");
    if (!graph.with_role(Role::state).empty())
        throw Error(Code::unsupported, "cannot place the nodes of a graph with state one by one: leave it to one device");
    runtime::RowGraph placed{graph, of, {}, 0};
    check_support(devices, placed, static_cast<uint32_t>(devices.size()));
    return placed;
}

const Weights& row_weights(const Weights& weights, const runtime::RowGraph& rows) {
    const std::shared_ptr<Weights::State>& state = WeightsAccess::state_of(weights);
    const std::lock_guard lock(state->mutex);
    if (!state->rows) state->rows = std::make_shared<runtime::RowWeights>(state->source, state->name);
    return state->rows->with(rows.slices);
}

}  // namespace

Session::Session(const Device& device, const Graph& graph, WeightSource weights, const CompileOptions& options)
    : Session(device, graph, Weights(std::move(weights)), options) {}

Session::Session(const Device& device, const Graph& graph, const Weights& weights, const CompileOptions& options)
    : impl_(std::make_unique<Impl>(std::vector{device}, graph, weights,
                                   runtime::FittedOptions{.compile = options, .as_it_is = true, .elsewhere = false})) {}

Session::Session(const std::vector<Device>& devices, const Graph& graph, const Weights& weights,
                 const SessionOptions& options) {
    if (devices.empty())
        throw Error(Code::invalid, "cannot make a session: no device given; use Context::choose_with_fallback");
    runtime::FittedOptions how{.compile = options.compile,
                               .plans_kept = options.plans_kept,
                               .budget = options.budget,
                               .weight_budget = options.weight_budget,
                               .streaming = options.streaming,
                               .check_ops = options.check_ops,
                               .elsewhere = options.build_elsewhere,
                               .bring = !options.read_at_first_run};
    const bool placed = !options.device_of.empty();
    if (!placed && options.rows < 2) {
        impl_ = std::make_unique<Impl>(devices, graph, weights, how);
        return;
    }
    const runtime::RowGraph shared = placed ? placed_graph(devices, graph, options) : row_graph_for(devices, graph, options);
    std::optional<uint64_t> apart_from;
    if (!placed) {
        std::vector<std::shared_ptr<plan::Port>> ports;
        for (uint32_t k = 0; k < options.rows; ++k) ports.push_back(plan::Port::of(devices[k]));
        apart_from = plan::Summing::from_bytes(ports, how.note);
        if (!how.note.empty()) how.note += "; sums are copied and added";
    }
    how.parts = shared.stages(static_cast<uint32_t>(devices.size()), apart_from);
    how.streaming = Streaming::never;
    impl_ = std::make_unique<Impl>(devices, shared.graph, placed ? weights : row_weights(weights, shared), how);
}

Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

void Session::run(std::span<const Input> inputs, std::span<const Output> outputs, const std::atomic<uint32_t>* cancel) {
    impl_->core.run(inputs, outputs, cancel);
}

Event Session::submit(std::span<const Input> inputs, std::span<const Output> outputs, const std::atomic<uint32_t>* cancel) {
    return Event(impl_->core.submit(inputs, outputs, cancel));
}

Tensor Session::state(std::string_view name) { return impl_->core.core().state(name); }
void Session::set_state(std::string_view name, const Tensor& tensor) { impl_->core.core().set_state(name, tensor); }
void Session::reset_state() { impl_->core.core().reset_state(); }

const Program& Session::program() const {
    const auto& first = impl_->core.core().first_program();
    if (!first) throw Error(Code::not_found, "the session has no single program: its graph is cut");
    if (!impl_->program.state_) impl_->program = Program(first);
    return impl_->program;
}

void Session::release() { impl_->core.release(); }
std::vector<std::string> Session::notes() const { return impl_->core.notes(); }
const Graph& Session::graph() const { return impl_->core.core().graph(); }
std::string Session::describe() const { return impl_->core.core().plan().describe(); }
std::string Session::plan_json() const { return impl_->core.core().plan().json(); }
std::vector<StageRuns> Session::runs() const { return impl_->core.runs(); }

}  // namespace backplane
