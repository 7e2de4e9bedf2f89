#include "plan/executor.hpp"
#include "runtime/session_core.hpp"
#include "runtime/spread/policy.hpp"
#include "runtime/streamed.hpp"

namespace backplane {

namespace {

std::vector<runtime::PlannedPart> parts_of(const std::vector<Device>& devices, const Graph& graph, const Weights& weights,
                                           const SessionOptions& options, std::vector<std::string>& notes) {
    if (options.budget != 0)
        if (auto parts = runtime::streamed_parts(devices.front(), graph, options.budget, options.compile); !parts.empty())
            return parts;
    return runtime::spread_parts(devices, graph, *WeightsAccess::state_of(weights), options.check_ops, notes);
}

}  // namespace

struct Session::Impl {
    std::vector<std::string> notes;  // of the plan; the executor has its own
    runtime::SessionCore core;
    Program program;

    Impl(const Device& device, const Graph& graph, const Weights& weights, const CompileOptions& options)
        : core({device}, graph, weights, {{{0}, {}}}, {options, kFrames, false}), program(core.first_program()) {}

    Impl(const std::vector<Device>& devices, const Graph& graph, const Weights& weights, const SessionOptions& options)
        : core(devices, graph, weights, parts_of(devices, graph, weights, options, notes),
               {options.compile, options.budget != 0 ? 1 : kFrames, options.build_elsewhere, options.plans_kept}),
          program(core.first_program()) {
        if (const uint64_t bytes = core.plan().bytes_on(0); options.budget != 0 && bytes > options.budget)
            throw Error(Code::no_device_memory, "cannot run the graph in " + std::to_string(options.budget) + " bytes of " +
                                                    core.plan().ports[0] + ": it takes " + std::to_string(bytes) +
                                                    "; give it that many");
    }

    static constexpr uint32_t kFrames = 3;
};

Session::Session(const Device& device, const Graph& graph, WeightSource weights, const CompileOptions& options)
    : Session(device, graph, Weights(std::move(weights)), options) {}

Session::Session(const Device& device, const Graph& graph, const Weights& weights, const CompileOptions& options)
    : impl_(std::make_unique<Impl>(device, graph, weights, options)) {}

Session::Session(const std::vector<Device>& devices, const Graph& graph, const Weights& weights,
                 const SessionOptions& options) {
    if (devices.empty())
        throw Error(Code::invalid, "cannot make a session: no device given; use Context::choose_with_fallback");
    impl_ = std::make_unique<Impl>(devices, graph, weights, options);
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

Tensor Session::state(std::string_view name) { return impl_->core.state(name); }
void Session::set_state(std::string_view name, const Tensor& tensor) { impl_->core.set_state(name, tensor); }
void Session::reset_state() { impl_->core.reset_state(); }

const Program& Session::program() const {
    if (!impl_->core.first_program()) throw Error(Code::not_found, "the session has no single program: its graph is cut");
    return impl_->program;
}

std::vector<std::string> Session::notes() const {
    std::vector<std::string> all = impl_->notes;
    const std::vector<std::string> handed_over = impl_->core.executor().notes();
    all.insert(all.end(), handed_over.begin(), handed_over.end());
    return all;
}

const Graph& Session::graph() const { return impl_->core.graph(); }
std::string Session::describe() const { return impl_->core.plan().describe(); }
std::string Session::plan_json() const { return impl_->core.plan().json(); }

std::vector<StageRuns> Session::runs() const {
    const plan::Plan& plan = impl_->core.plan();
    std::vector<StageRuns> all;
    for (uint32_t s = 0; s < plan.stages.size(); ++s)
        for (uint32_t p = 0; p < plan.ports.size(); ++p)
            if (const uint64_t runs = impl_->core.executor().runs(s, p); runs > 0)
                all.push_back({plan.ports[p], plan.stages[s].nodes, plan.stages[s].ops, runs});
    return all;
}

}  // namespace backplane
