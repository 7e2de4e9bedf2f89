#include <algorithm>
#include <map>

#include "backplane/cost.hpp"
#include "runtime/costs/known.hpp"
#include "runtime/costs/measure.hpp"
#include "runtime/costs/times.hpp"

namespace backplane {

namespace {

using runtime::KnownCosts;

// By how much runs correct what ops add up to.
struct Correction {
    double ratio = 1;
    size_t runs = 0, networks = 0;
};

Correction by_runs(const runtime::Learnt& own, double predicted) { return {own.ratio(predicted), own.runs(), 0}; }

Correction by_networks(KnownCosts& known) {
    const runtime::NetworksRatio all = known.ratio();
    return {all.ratio, 0, all.networks};
}

// Whole runs: as far as sizes of this network say, else others.
Correction of_whole(KnownCosts& known, const Graph& graph, double predicted) {
    const runtime::Learnt own = known.learnt(runtime::network_key(graph, false));
    return own.sizes().empty() ? by_networks(known) : by_runs(own, predicted);
}

void note(Prediction& made, const Correction& by) {
    made.learnt = by.ratio;
    made.runs = by.runs;
    made.networks = by.networks;
}

void scale(Prediction& made, const Correction& by) {
    note(made, by);
    made.ops *= by.ratio;
    made.copies *= by.ratio;
    made.seconds *= by.ratio;
}

// By the ops, with all weights there.
double whole_seconds(const DeviceCosts& costs, const Graph& graph) { return runtime::predicted(costs, graph, {}).seconds; }

}  // namespace

// What this model was asked about, so that it stays while another measures anew.
struct CostModel::Impl {
    const KnownCosts::Costs* hold(const Device& device) {
        std::shared_ptr<const KnownCosts::Costs>& held = known[device.info().id];
        held = KnownCosts::of(device)->costs();
        return held.get();
    }
    std::map<std::string, std::shared_ptr<const KnownCosts::Costs>> known;  // by device id
};

CostModel::CostModel(const Context&) : impl_(std::make_unique<Impl>()) {}
CostModel::~CostModel() = default;
CostModel::CostModel(CostModel&&) noexcept = default;
CostModel& CostModel::operator=(CostModel&&) noexcept = default;

const DeviceCosts* CostModel::of(const Device& device) const {
    const KnownCosts::Costs* held = impl_->hold(device);
    return held != nullptr ? &held->costs : nullptr;
}

const DeviceCosts& CostModel::measure(const Device& device, const std::vector<Device>& others, const CostOptions& options) {
    return (impl_->known[device.info().id] =
                KnownCosts::of(device)->remember(runtime::measured_costs(device, others, options)))
        ->costs;
}

Prediction CostModel::predict(const Device& device, const Graph& graph, const Fit& way) const {
    const DeviceCosts* costs = of(device);
    if (costs == nullptr || !way.possible) return {};
    const std::shared_ptr<KnownCosts> known = KnownCosts::of(device);
    Prediction made = runtime::predicted(*costs, graph, way);
    const runtime::Learnt own = known->learnt(runtime::network_key(graph, way.streamed));
    if (!own.sizes().empty()) {
        scale(made, by_runs(own, made.seconds));
    } else if (!way.streamed) {
        scale(made, by_networks(*known));
    } else {
        // What was learnt of runs whose weights were there is the work's; copies stay what they are.
        note(made, of_whole(*known, graph, whole_seconds(*costs, graph)));
        const double beside = made.seconds - std::max(made.ops, made.copies);
        made.ops *= made.learnt;
        made.seconds = beside + std::max(made.ops, made.copies);
    }
    return made;
}

void CostModel::learn(const Device& device, const Graph& graph, const Fit& way, double seconds) {
    const DeviceCosts* costs = of(device);
    if (costs == nullptr || !way.possible) return;
    KnownCosts::of(device)->learn(runtime::network_key(graph, way.streamed), runtime::predicted(*costs, graph, way).seconds,
                                  seconds);
}

Prediction predict(const DeviceCosts& costs, const Graph& graph, const Fit& way) {
    return way.possible ? runtime::predicted(costs, graph, way) : Prediction{};
}

std::optional<Placement> CostModel::place(const std::vector<Device>& devices, const Graph& graph,
                                          const std::vector<std::vector<Fit>>& ways, int64_t batches,
                                          size_t most_parts) const {
    std::vector<runtime::Candidate> candidates;
    std::vector<std::shared_ptr<const KnownCosts::Costs>> held;
    for (uint32_t i = 0; i < devices.size() && i < ways.size(); ++i) {
        const std::shared_ptr<KnownCosts> known = KnownCosts::of(devices[i]);
        held.push_back(known->costs());
        if (!held.back()) continue;
        const DeviceCosts* costs = &held.back()->costs;
        const DeviceInfo& info = devices[i].info();
        runtime::Candidate one{i, info.id, info.same_chip_as.empty() ? info.id : info.same_chip_as, costs, 1, {}, nullptr};
        one.learnt = of_whole(*known, graph, whole_seconds(*costs, graph)).ratio;
        for (const Fit& way : ways[i]) {
            if (!way.streamed && way.possible) one.whole = &way;
            if (!one.seconds && way.fits) one.seconds = predict(devices[i], graph, way).seconds;
        }
        candidates.push_back(std::move(one));
    }
    return runtime::placed(graph, candidates, batches, most_parts);
}

}  // namespace backplane
