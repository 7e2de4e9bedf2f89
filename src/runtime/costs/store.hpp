// What is remembered of the costs of devices: an entry a device, and one for each network that was timed on it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "backplane/cost.hpp"

namespace backplane::runtime {

class CostStore {
public:
    explicit CostStore(std::filesystem::path state_folder) : folder_(std::move(state_folder)) {}

    [[nodiscard]] std::optional<DeviceCosts> costs(const DeviceInfo& device) const;
    void remember(const DeviceInfo& device, DeviceCosts& costs) const;  // sets `measured`

    // Measured over predicted of the runs of a network; nothing: there were none.
    [[nodiscard]] std::optional<double> learnt(const DeviceInfo& device, const std::string& network) const;
    void learn(const DeviceInfo& device, const std::string& network, double ratio) const;

private:
    std::filesystem::path folder_;
};

// The ops of a graph and its weights, whatever the size of its input. `streamed`: so are some of its weights.
[[nodiscard]] std::string network_key(const Graph& graph, bool streamed);

}  // namespace backplane::runtime
