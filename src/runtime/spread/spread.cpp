#include "backplane/spread.hpp"

#include <algorithm>
#include <map>

#include "runtime/session_core.hpp"
#include "runtime/spread/policy.hpp"
#include "runtime/streamed.hpp"

namespace backplane {

struct SpreadDevices::State {
    std::vector<Device> devices;
    Weights weights;
};

SpreadDevices::SpreadDevices(std::vector<Device> devices, const WeightSource& weights) {
    if (devices.empty())
        throw Error(Code::invalid, "cannot spread a graph: no device given; use Context::choose_with_fallback");
    state_ = std::make_unique<State>(State{std::move(devices), Weights(weights)});
}
SpreadDevices::~SpreadDevices() = default;
const std::vector<Device>& SpreadDevices::devices() const noexcept { return state_->devices; }

struct SpreadSession::Impl {
    std::shared_ptr<SpreadDevices> shared;
    std::vector<std::string> notes;  // of the plan; the executor has its own
    runtime::SessionCore core;

    Impl(std::shared_ptr<SpreadDevices> shared_, const Graph& graph, const SpreadOptions& options)
        : shared(std::move(shared_)),
          core(given().devices, graph, given().weights, parts_of(graph, options),
               {options.compile, 1, options.build_elsewhere}) {}

    [[nodiscard]] std::vector<runtime::PlannedPart> parts_of(const Graph& graph, const SpreadOptions& options) {
        if (options.budget != 0)
            if (auto parts = runtime::streamed_parts(given().devices.front(), graph, options.budget, options.compile);
                !parts.empty())
                return parts;
        return runtime::spread_parts(given().devices, graph, *WeightsAccess::state_of(given().weights), true, notes);
    }

    [[nodiscard]] const SpreadDevices::State& given() const {
        if (!shared) throw Error(Code::invalid, "cannot spread a graph: no devices given");
        return *shared->state_;
    }

    [[nodiscard]] SpreadReport report() {
        SpreadReport report;
        report.notes = notes;
        const std::vector<std::string> handed_over = core.executor().notes();
        report.notes.insert(report.notes.end(), handed_over.begin(), handed_over.end());
        const plan::Plan& plan = core.plan();
        std::map<uint32_t, uint32_t> maker;  // value -> port
        for (uint32_t s = 0; s < plan.stages.size(); ++s) {
            const plan::Stage& stage = plan.stages[s];
            const uint32_t port = core.executor().port_now(s);
            report.parts.push_back({plan.ports[port], stage.nodes, stage.ops});
            for (const plan::SlotUse& use : stage.uses) {
                const auto from = maker.find(use.value);
                if (use.written || from == maker.end() || from->second == port) continue;
                ++report.copies;
                report.copied_bytes += plan.values[use.value].bytes;
            }
            for (const plan::SlotUse& use : stage.uses)
                if (use.written && plan.values[use.value].kind != plan::Kind::state) maker[use.value] = port;
        }
        return report;
    }
};

SpreadSession::SpreadSession(std::shared_ptr<SpreadDevices> devices, const Graph& graph, const SpreadOptions& options)
    : impl_(std::make_unique<Impl>(std::move(devices), graph, options)) {}
SpreadSession::~SpreadSession() = default;
SpreadSession::SpreadSession(SpreadSession&&) noexcept = default;
SpreadSession& SpreadSession::operator=(SpreadSession&&) noexcept = default;

void SpreadSession::run(std::span<const Input> inputs, std::span<const Output> outputs,
                        const std::atomic<uint32_t>* cancel) {
    impl_->core.run(inputs, outputs, cancel);
}
void SpreadSession::reset_state() { impl_->core.reset_state(); }
SpreadReport SpreadSession::report() const { return impl_->report(); }
const Graph& SpreadSession::graph() const { return impl_->core.graph(); }
std::string SpreadSession::describe() const { return impl_->core.plan().describe(); }
std::string SpreadSession::plan_json() const { return impl_->core.plan().json(); }

uint64_t SpreadSession::workspace_bytes() const {
    uint64_t most = 0;
    for (const plan::Stage& stage : impl_->core.plan().stages) most = std::max(most, stage.workspace);
    return most;
}

}  // namespace backplane
