#include <algorithm>
#include <map>

#include "backplane/cost.hpp"
#include "runtime/costs/measure.hpp"
#include "runtime/costs/store.hpp"
#include "runtime/costs/times.hpp"

namespace backplane {

struct CostModel::Impl {
    struct Known {
        std::optional<DeviceCosts> costs;
        std::string key;
    };
    explicit Impl(const Context& context) : store(context.state_folder()) {}

    const Known& of(const DeviceInfo& info) const {
        const auto found = known.find(info.id);
        if (found != known.end()) return found->second;
        return keep(info, store.costs(info));
    }
    const Known& keep(const DeviceInfo& info, std::optional<DeviceCosts> costs) const {
        Known& made = known[info.id];
        made.key = costs ? runtime::key_of(*costs) : std::string();
        made.costs = std::move(costs);
        return made;
    }
    [[nodiscard]] runtime::Learnt learnt(const DeviceInfo& info, const Graph& graph, bool streamed) const {
        return store.learnt(info, runtime::network_key(graph, streamed), of(info).key);
    }

    // What whole runs take over what their ops add up to: as far as sizes of this network say, else others.
    [[nodiscard]] double whole_ratio(const DeviceInfo& info, const Graph& graph, double predicted) const {
        const runtime::Learnt own = learnt(info, graph, false);
        return own.sizes().empty() ? store.ratio(info, of(info).key) : own.ratio(predicted);
    }

    runtime::CostStore store;
    mutable std::map<std::string, Known> known;  // by device id
};

namespace {

// By the ops, with all weights there.
double whole_seconds(const DeviceCosts& costs, const Graph& graph) { return runtime::predicted(costs, graph, {}).seconds; }

}  // namespace

CostModel::CostModel(const Context& context) : impl_(std::make_unique<Impl>(context)) {}
CostModel::~CostModel() = default;
CostModel::CostModel(CostModel&&) noexcept = default;
CostModel& CostModel::operator=(CostModel&&) noexcept = default;

const DeviceCosts* CostModel::of(const Device& device) const {
    const std::optional<DeviceCosts>& costs = impl_->of(device.info()).costs;
    return costs ? &*costs : nullptr;
}

const DeviceCosts& CostModel::measure(const Device& device, const std::vector<Device>& others, const CostOptions& options) {
    DeviceCosts costs = runtime::measured_costs(device, others, options);
    impl_->store.remember(device.info(), costs);
    return *impl_->keep(device.info(), std::move(costs)).costs;
}

Prediction CostModel::predict(const Device& device, const Graph& graph, const Fit& way) const {
    const DeviceCosts* costs = of(device);
    if (costs == nullptr || !way.possible) return {};
    Prediction made = runtime::predicted(*costs, graph, way);
    const runtime::Learnt own = impl_->learnt(device.info(), graph, way.streamed);
    if (!own.sizes().empty()) {
        made.learnt = own.ratio(made.seconds);
        made.ops *= made.learnt;
        made.copies *= made.learnt;
        made.seconds *= made.learnt;
        return made;
    }
    if (!way.streamed) {
        made.learnt = impl_->store.ratio(device.info(), impl_->of(device.info()).key);
        made.ops *= made.learnt;
        made.copies *= made.learnt;
        made.seconds *= made.learnt;
        return made;
    }
    // What was learnt of runs whose weights were there is the work's; copies stay what they are.
    made.learnt = impl_->whole_ratio(device.info(), graph, whole_seconds(*costs, graph));
    const double beside = made.seconds - std::max(made.ops, made.copies);
    made.ops *= made.learnt;
    made.seconds = beside + std::max(made.ops, made.copies);
    return made;
}

void CostModel::learn(const Device& device, const Graph& graph, const Fit& way, double seconds) {
    const DeviceCosts* costs = of(device);
    if (costs == nullptr || !way.possible) return;
    impl_->store.learn(device.info(), runtime::network_key(graph, way.streamed), impl_->of(device.info()).key,
                       runtime::predicted(*costs, graph, way).seconds, seconds);
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
        one.learnt = impl_->whole_ratio(info, graph, whole_seconds(*costs, graph));
        for (const Fit& way : ways[i]) {
            if (!way.streamed && way.possible) one.whole = &way;
            if (!one.seconds && way.fits) one.seconds = predict(devices[i], graph, way).seconds;
        }
        candidates.push_back(std::move(one));
    }
    return runtime::placed(graph, candidates, batches, most_parts);
}

}  // namespace backplane
