// What is known in this process of the costs of a device: read of the disk once, for all who ask, and kept in step with what they find out.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "runtime/costs/store.hpp"

namespace backplane::runtime {

// Any thread.
class KnownCosts {
public:
    struct Costs {
        DeviceCosts costs;
        std::string key;
    };
    // One for each open device.
    [[nodiscard]] static std::shared_ptr<KnownCosts> of(const Device& device);

    explicit KnownCosts(const Device& device);
    KnownCosts(const KnownCosts&) = delete;
    KnownCosts& operator=(const KnownCosts&) = delete;

    // Null: it was not measured, or with another driver. What another process measures meanwhile is found then; what is there stays for this one.
    [[nodiscard]] std::shared_ptr<const Costs> costs();
    std::shared_ptr<const Costs> remember(DeviceCosts costs);

    // Beside predictions by costs(), of which there are some.
    [[nodiscard]] Learnt learnt(const std::string& network);
    [[nodiscard]] NetworksRatio ratio();
    // To what is on the disk by now: other processes learn, too.
    void learn(const std::string& network, double predicted, double taken);

private:
    void take(std::shared_ptr<const Costs> costs);
    [[nodiscard]] const Learnt& read(const std::string& network);

    const DeviceInfo info_;
    std::mutex mutex_;            // of what follows
    std::set<std::string> said_;  // lines of the log
    CostStore store_;
    std::shared_ptr<const Costs> costs_;
    std::map<std::string, Learnt> learnt_;  // by network, beside these costs
    std::optional<NetworksRatio> ratio_;    // likewise
};

}  // namespace backplane::runtime
