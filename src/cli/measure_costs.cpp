#include "cli/measure_costs.hpp"

#include <set>

namespace backplane::cli {

std::vector<std::string> measure_costs(CostModel& costs, const std::vector<Device>& devices, bool again, Run& run) {
    std::vector<std::string> problems;
    for (const Device& device : devices) {
        if (!again && costs.of(device) != nullptr) continue;
        const std::string id = device.info().id;
        if (!run.json) err("measuring what work costs on {}\n", id);
        Progress progress("measuring " + id);
        CostOptions how;
        how.cancel = &run.interrupted;
        how.progress = [&](const std::string& what, double done) { progress.show(done, what); };
        try {
            costs.measure(device, devices, how);
        } catch (const Error& error) {
            if (error.code() == Code::cancelled) throw;
            problems.push_back("what work costs on " + id + " is not known: " + error.what());
        }
    }
    return problems;
}

Json costs_json(const DeviceCosts& costs) {
    const auto curve = [](const CostCurve& one) {
        Json json{{"fixed_us", one.fixed() * 1e6}, {"per_second", one.rate()}, {"points", Json::array()}};
        for (const CostCurve::Point& point : one.points) json["points"].push_back({point.work, point.seconds});
        return json;
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

DeviceCosts costs_from(const Json& json) {
    const auto curve = [](const Json& one) {
        CostCurve made;
        if (one.contains("points")) {
            for (const Json& point : one["points"]) made.points.push_back({point[0].get<double>(), point[1].get<double>()});
        } else {
            // A straight line, up to a second of work.
            const double rate = one.at("per_second").get<double>(), fixed = one.value("fixed_us", 0.0).get<double>() / 1e6;
            for (const double seconds : {1e-6, 1.0}) made.points.push_back({rate * seconds, fixed + seconds});
        }
        if (!made.valid()) throw base::JsonError("a curve of \"costs\" is none: work and seconds grow from above 0");
        return made;
    };
    DeviceCosts costs;
    costs.run = json.value("run_us", 0.0).get<double>() / 1e6;
    if (!(costs.run >= 0)) throw base::JsonError("\"run_us\" of \"costs\" is below 0");
    const Json& ops = json.at("ops");
    for (const std::string& name : ops.names()) costs.ops[name] = curve(ops[name]);
    for (const auto& [name, into] : {std::pair("up", &costs.up), {"down", &costs.down}, {"streamed", &costs.streamed}})
        if (json.contains(name)) *into = curve(json[name]);
    return costs;
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
        row(name, DeviceCosts::is_by_operations(name) ? "GFLOP/s" : "GB/s", [&](const DeviceCosts& costs) {
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

std::string milliseconds(double seconds) { return fixed(seconds * 1e3, seconds < 1e-2 ? 2 : 1).text + " ms"; }

std::string milliseconds(const Prediction& prediction) { return prediction.known ? milliseconds(prediction.seconds) : "-"; }

std::string corrected_by(const Prediction& prediction) {
    const auto counted = [](size_t count, const char* what) {
        return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
    };
    if (prediction.runs != 0) return counted(prediction.runs, "run");
    return prediction.networks != 0 ? counted(prediction.networks, "other network") : "-";
}

}  // namespace backplane::cli
