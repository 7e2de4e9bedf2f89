#include <algorithm>
#include <map>

#include "backplane/cost.hpp"
#include "runtime/costs/measure.hpp"
#include "runtime/costs/store.hpp"
#include "runtime/costs/times.hpp"

namespace backplane {

struct CostModel::Impl {
    explicit Impl(const Context& context) : store(context.state_folder()) {}
    runtime::CostStore store;
    mutable std::map<std::string, std::optional<DeviceCosts>> known;  // by device id
};

CostModel::CostModel(const Context& context) : impl_(std::make_unique<Impl>(context)) {}
CostModel::~CostModel() = default;
CostModel::CostModel(CostModel&&) noexcept = default;
CostModel& CostModel::operator=(CostModel&&) noexcept = default;

const DeviceCosts* CostModel::of(const Device& device) const {
    const DeviceInfo& info = device.info();
    auto found = impl_->known.find(info.id);
    if (found == impl_->known.end()) found = impl_->known.emplace(info.id, impl_->store.costs(info)).first;
    return found->second ? &*found->second : nullptr;
}

const DeviceCosts& CostModel::measure(const Device& device, const std::vector<Device>& others, const CostOptions& options) {
    DeviceCosts costs = runtime::measured_costs(device, others, options);
    impl_->store.remember(device.info(), costs);
    std::optional<DeviceCosts>& known = impl_->known[device.info().id];
    known = std::move(costs);
    return *known;
}

Prediction CostModel::predict(const Device& device, const Graph& graph, const Fit& way) const {
    const DeviceCosts* costs = of(device);
    if (costs == nullptr || !way.possible) return {};
    Prediction made = runtime::predicted(*costs, graph, way);
    const std::optional<double> whole = impl_->store.learnt(device.info(), runtime::network_key(graph, false));
    const std::optional<double> streamed =
        way.streamed ? impl_->store.learnt(device.info(), runtime::network_key(graph, true)) : std::nullopt;
    if (!whole && !streamed) return made;
    if (streamed) {
        made.learnt = *streamed;
        made.ops *= made.learnt;
        made.copies *= made.learnt;
        made.seconds *= made.learnt;
        return made;
    }
    // What was learnt of runs whose weights were there is the work's; copies stay what they are.
    made.learnt = *whole;
    const double beside = made.seconds - std::max(made.ops, made.copies);
    made.ops *= made.learnt;
    made.seconds = way.streamed ? beside + std::max(made.ops, made.copies) : made.seconds * made.learnt;
    if (!way.streamed) made.copies *= made.learnt;
    return made;
}

void CostModel::learn(const Device& device, const Graph& graph, const Fit& way, double seconds) {
    const DeviceCosts* costs = of(device);
    if (costs == nullptr || !way.possible) return;
    const Prediction plain = runtime::predicted(*costs, graph, way);
    if (plain.seconds > 0)
        impl_->store.learn(device.info(), runtime::network_key(graph, way.streamed), seconds / plain.seconds);
}

Prediction predict(const DeviceCosts& costs, const Graph& graph, const Fit& way) {
    return way.possible ? runtime::predicted(costs, graph, way) : Prediction{};
}

std::optional<Placement> CostModel::place(const std::vector<Device>& devices, const Graph& graph,
                                          const std::vector<std::vector<Fit>>& ways, int64_t batches,
                                          size_t most_parts) const {
    std::vector<runtime::Candidate> candidates;
    for (uint32_t i = 0; i < devices.size() && i < ways.size(); ++i) {
        const DeviceCosts* costs = of(devices[i]);
        if (costs == nullptr) continue;
        const DeviceInfo& info = devices[i].info();
        runtime::Candidate one{i, info.id, info.same_chip_as.empty() ? info.id : info.same_chip_as, costs, 1, {}, nullptr};
        one.learnt = impl_->store.learnt(devices[i].info(), runtime::network_key(graph, false)).value_or(1);
        for (const Fit& way : ways[i]) {
            if (!way.streamed && way.possible) one.whole = &way;
            if (!one.seconds && way.fits) one.seconds = predict(devices[i], graph, way).seconds;
        }
        candidates.push_back(std::move(one));
    }
    return runtime::placed(graph, candidates, batches, most_parts);
}

}  // namespace backplane
