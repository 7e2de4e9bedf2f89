#include "runtime/costs/known.hpp"

#include <utility>

#include "registry/device_state.hpp"

namespace backplane::runtime {

std::shared_ptr<KnownCosts> KnownCosts::of(const Device& device) {
    if (!device) throw Error(Code::invalid, "no device: this handle was never given one");
    Device::State& state = *DeviceAccess::state(device);
    const std::lock_guard lock(state.above_mutex);
    if (!state.costs) state.costs = std::make_shared<KnownCosts>(device);
    return std::static_pointer_cast<KnownCosts>(state.costs);
}

KnownCosts::KnownCosts(const Device& device)
    : info_(device.info()),
      store_(DeviceAccess::state(device)->state_folder,
             [this, log = DeviceAccess::state(device)->guarded().services()](const std::string& line) {
                 if (said_.insert(line).second) log->say(LogLevel::warning, "what work costs on " + info_.id + ": " + line);
             }) {}

void KnownCosts::take(std::shared_ptr<const Costs> costs) {
    costs_ = std::move(costs);
    learnt_.clear();
    ratio_.reset();
}

std::shared_ptr<const KnownCosts::Costs> KnownCosts::costs() {
    const std::lock_guard lock(mutex_);
    if (!costs_)
        if (std::optional<DeviceCosts> found = store_.costs(info_)) {
            std::string key = key_of(*found);
            take(std::make_shared<const Costs>(Costs{std::move(*found), std::move(key)}));
        }
    return costs_;
}

std::shared_ptr<const KnownCosts::Costs> KnownCosts::remember(DeviceCosts costs) {
    const std::lock_guard lock(mutex_);
    store_.remember(info_, costs);
    std::string key = key_of(costs);
    take(std::make_shared<const Costs>(Costs{std::move(costs), std::move(key)}));
    return costs_;
}

const Learnt& KnownCosts::read(const std::string& network) {
    const auto found = learnt_.find(network);
    if (found != learnt_.end()) return found->second;
    return learnt_[network] = costs_ ? store_.learnt(info_, network, costs_->key) : Learnt();
}

Learnt KnownCosts::learnt(const std::string& network) {
    const std::lock_guard lock(mutex_);
    return read(network);
}

NetworksRatio KnownCosts::ratio() {
    const std::lock_guard lock(mutex_);
    if (!ratio_) ratio_ = costs_ ? store_.ratio(info_, costs_->key) : NetworksRatio();
    return *ratio_;
}

void KnownCosts::learn(const std::string& network, double predicted, double taken) {
    const std::lock_guard lock(mutex_);
    if (!costs_) return;
    Learnt known = store_.learnt(info_, network, costs_->key);
    if (known.sizes().empty()) known = read(network);  // where nothing can be written
    known.add(predicted, taken);
    if (known.sizes().empty()) return;
    store_.remember(info_, network, costs_->key, known, predicted);
    learnt_[network] = std::move(known);
    ratio_.reset();
}

}  // namespace backplane::runtime
