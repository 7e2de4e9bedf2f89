#include "backplane/spread.hpp"

#include <algorithm>
#include <map>

#include "runtime/fitted_core.hpp"

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
    runtime::FittedCore fitted;

    Impl(std::shared_ptr<SpreadDevices> shared_, const Graph& graph, const SpreadOptions& options)
        : shared(std::move(shared_)),
          fitted(given().devices, graph, given().weights,
                 {.compile = options.compile,
                  .frames = 1,
                  .budget = options.budget,
                  .streaming = options.streaming,
                  .elsewhere = options.build_elsewhere}) {}

    [[nodiscard]] const SpreadDevices::State& given() const {
        if (!shared) throw Error(Code::invalid, "cannot spread a graph: no devices given");
        return *shared->state_;
    }

    [[nodiscard]] SpreadReport report() {
        SpreadReport report;
        report.notes = fitted.notes();
        const runtime::SessionCore& core = fitted.core();
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
    impl_->fitted.run(inputs, outputs, cancel);
}
void SpreadSession::reset_state() { impl_->fitted.core().reset_state(); }
SpreadReport SpreadSession::report() const { return impl_->report(); }
const Graph& SpreadSession::graph() const { return impl_->fitted.core().graph(); }
std::string SpreadSession::describe() const { return impl_->fitted.core().plan().describe(); }
std::string SpreadSession::plan_json() const { return impl_->fitted.core().plan().json(); }

uint64_t SpreadSession::workspace_bytes() const {
    uint64_t most = 0;
    for (const plan::Stage& stage : impl_->fitted.core().plan().stages) most = std::max(most, stage.workspace);
    return most;
}

}  // namespace backplane
