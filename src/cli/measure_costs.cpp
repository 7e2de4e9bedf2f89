#include "cli/measure_costs.hpp"

#include <set>

namespace backplane::cli {

void measure_costs(CostModel& costs, const std::vector<Device>& devices, bool again, Run& run) {
    for (const Device& device : devices) {
        if (!again && costs.of(device) != nullptr) continue;
        const std::string id = device.info().id;
        if (!run.json) err("measuring what work costs on {}\n", id);
        Progress progress("measuring " + id);
        CostOptions how;
        how.cancel = &run.interrupted;
        how.progress = [&](const std::string& what, double done) { progress.show(done, what); };
        costs.measure(device, devices, how);
    }
}

Json costs_json(const DeviceCosts& costs) {
    const auto curve = [](const CostCurve& one) {
        return Json{{"fixed_us", one.fixed() * 1e6}, {"per_second", one.rate()}};
    };
    Json json{{"measured", costs.measured}, {"run_us", costs.run * 1e6}, {"ops", Json::object()}};
    for (const auto& [name, one] : costs.ops) json["ops"][name] = curve(one);
    json["up"] = curve(costs.up);
    json["down"] = curve(costs.down);
    json["streamed"] = curve(costs.streamed);
    json["from"] = Json::object();
    for (const auto& [name, one] : costs.from) json["from"][name] = curve(one);
    return json;
}

void print_costs(const std::vector<std::pair<std::string, const DeviceCosts*>>& all) {
    std::vector<std::vector<std::string>> rows{{"WHAT WORK COSTS"}};
    std::set<std::string> names;
    for (const auto& [device, costs] : all) {
        rows[0].push_back(device);
        if (costs == nullptr) continue;
        for (const auto& [name, curve] : costs->ops) names.insert(name);
    }
    const auto row = [&](const std::string& what, const char* unit, const auto& curve_of) {
        std::vector<std::string> cells{what};
        for (const auto& [device, costs] : all) {
            const CostCurve* curve = costs == nullptr ? nullptr : curve_of(*costs);
            if (curve == nullptr || curve->points.empty())
                cells.emplace_back("-");
            else
                cells.push_back(fixed(curve->rate() / 1e9, 1).text + " " + unit + ", " +
                                fixed(curve->fixed() * 1e6, 1).text + " us");
        }
        rows.push_back(std::move(cells));
    };
    for (const std::string& name : names) {
        const bool operations =
            name.starts_with("product") || name.starts_with("convolution") || name.starts_with("attention");
        row(name, operations ? "GFLOP/s" : "GB/s", [&](const DeviceCosts& costs) {
            const auto found = costs.ops.find(name);
            return found == costs.ops.end() ? nullptr : &found->second;
        });
    }
    row("inputs of the host", "GB/s", [](const DeviceCosts& costs) { return &costs.up; });
    row("outputs to the host", "GB/s", [](const DeviceCosts& costs) { return &costs.down; });
    row("streamed weights", "GB/s", [](const DeviceCosts& costs) { return &costs.streamed; });
    for (const auto& [device, costs] : all)
        row("tensors of " + device, "GB/s", [&, id = device](const DeviceCosts& there) {
            const auto found = there.from.find(id);
            return found == there.from.end() ? nullptr : &found->second;
        });
    std::vector<std::string> runs{"a run beside its ops"};
    for (const auto& [device, costs] : all) runs.push_back(costs == nullptr ? "-" : fixed(costs->run * 1e6, 1).text + " us");
    rows.push_back(std::move(runs));
    print_table(rows);
}

std::string milliseconds(const Prediction& prediction) {
    return prediction.known ? fixed(prediction.seconds * 1e3, prediction.seconds < 1e-2 ? 2 : 1).text + " ms" : "-";
}

}  // namespace backplane::cli
