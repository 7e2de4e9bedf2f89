// What is remembered of the costs of devices: an entry a device, and one for each network that was timed on it.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "backplane/cost.hpp"
#include "runtime/costs/learnt.hpp"

namespace backplane::runtime {

// What runs took over what was predicted, and of how many networks: 1 of none where nothing is known.
struct NetworksRatio {
    double ratio = 1;
    size_t networks = 0;
};

class CostStore {
public:
    using Say = std::function<void(const std::string& line)>;
    // `say` hears of each file that is there and cannot be used, each time it is looked for.
    explicit CostStore(std::filesystem::path state_folder, Say say = {})
        : folder_(std::move(state_folder)), say_(std::move(say)) {}

    [[nodiscard]] std::optional<DeviceCosts> costs(const DeviceInfo& device) const;
    void remember(const DeviceInfo& device, DeviceCosts& costs) const;  // sets `measured`

    // Of the runs of a network, beside predictions by these costs (key_of() them); empty: there were none.
    [[nodiscard]] Learnt learnt(const DeviceInfo& device, const std::string& network, const std::string& costs) const;
    void remember(const DeviceInfo& device, const std::string& network, const std::string& costs, const Learnt& known,
                  double predicted) const;

    // What runs of the networks that were timed last took over what their ops add up to: the median, of three networks and more, between a half and
    // two; else 1. It corrects what was measured of the device for networks that never ran there.
    [[nodiscard]] NetworksRatio ratio(const DeviceInfo& device, const std::string& costs) const;

private:
    void learn_ratio(const DeviceInfo& device, const std::string& network, const std::string& costs, double ratio) const;

    std::filesystem::path folder_;
    Say say_;
};

[[nodiscard]] std::string key_of(const DeviceCosts& costs);

// The ops of a graph and its weights, whatever the size of its input. `streamed`: so are some of its weights.
[[nodiscard]] std::string network_key(const Graph& graph, bool streamed);

}  // namespace backplane::runtime
