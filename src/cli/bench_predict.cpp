#include <algorithm>
#include <cmath>

#include "cli/bench_networks.hpp"
#include "cli/bench_run.hpp"
#include "cli/cli.hpp"
#include "cli/measure_costs.hpp"
#include "cli/usage.hpp"

namespace backplane::cli {

namespace {

struct PredictChoice {
    DeviceChoice choice;
    std::string devices, networks;
    int runs = 5;
    bool again = false, memory = false;
};

struct PredictedCase {
    std::string network, device;
    int64_t size = 0;
    // Predicted by the ops, with what a run of a smaller size said, and with one of a larger size, too; as it was.
    double alone_ms = 0, after_one_ms = 0, after_two_ms = 0, measured_ms = 0;
    uint64_t planned = 0, held = 0;
    std::string problem;
};

std::vector<std::string> listed(const std::string& list) {
    std::vector<std::string> all;
    for (size_t start = 0; start < list.size();) {
        const size_t end = std::min(list.find(',', start), list.size());
        if (end > start) all.push_back(list.substr(start, end - start));
        start = end + 1;
    }
    return all;
}

double off(double predicted, double measured) { return measured > 0 ? predicted / measured - 1 : 0; }

// Of as many sessions, as where a session's memory and threads come to lie makes it faster or slower for as long as it is there.
constexpr size_t kSessions = 3;

std::vector<double> times_of(const Device& device, const Graph& graph, const BenchNetwork& network, const PredictChoice& o,
                             Run& run) {
    constexpr double kSeconds = 0.3, kRange = 1;
    std::vector<double> all;
    for (size_t k = 0; k < kSessions; ++k) {
        Session session(device, graph, network.weights);
        all.push_back(time_session(session, o.runs, kSeconds, &run.interrupted, kRange).median_ms);
    }
    return all;
}

// Of a session that has run, with what goes in and out: these as tensors, since the host's memory is used where it lies by devices that can. So may weights
// be: they are counted, whose memory they are in is chance.
uint64_t held_by(const Device& device, const Graph& graph, const BenchNetwork& network, Run& run) {
    const uint64_t before = ledger(device).held;
    const Weights weights(network.weights);
    Session session({device}, graph, weights);
    std::vector<Tensor> given, made;
    std::vector<Input> inputs;
    std::vector<Output> outputs;
    for (const TensorId id : graph.with_role(Role::input)) {
        given.emplace_back(device, graph[id].dtype, graph[id].shape).zero();
        inputs.emplace_back(graph[id].name, given.back());
    }
    const std::vector<TensorId> wanted = graph.with_role(Role::output);
    for (const TensorId id : wanted) made.emplace_back(device, graph[id].dtype, graph[id].shape);
    for (size_t i = 0; i < wanted.size(); ++i) outputs.emplace_back(graph[wanted[i]].name, &made[i]);
    session.run(inputs, outputs, &run.interrupted);
    return ledger(device).held - before + weights.bytes_in_place(device);
}

Fit whole_of(const Device& device, const Graph& graph, Run& run) {
    FitOptions how;
    how.streaming = Streaming::never;
    how.compile.cancel = &run.interrupted;
    return fits({device}, graph, how).front();
}

// Runs of two sizes say what shapes and fusion make of the network; one between them is asked about before it runs.
PredictedCase case_of(CostModel& costs, const Device& device, const BenchNetwork& network, const PredictChoice& o,
                      Run& run) {
    PredictedCase one{network.name, device.info().id, network.sizes.asked};
    try {
        const Graph asked = network.graph(network.sizes.asked);
        const Fit way = whole_of(device, asked, run);
        if (!way.possible) throw Error(Code::unsupported, way.problem);
        one.planned = way.needs;
        if (!o.memory) {
            const DeviceCosts* known = costs.of(device);
            if (known != nullptr) one.alone_ms = predict(*known, asked, way).seconds * 1e3;
            const auto learn = [&](int64_t size) {
                const Graph graph = network.graph(size);
                const Fit whole = whole_of(device, graph, run);
                for (const double ms : times_of(device, graph, network, o, run)) costs.learn(device, graph, whole, ms / 1e3);
                return costs.predict(device, asked, way).seconds * 1e3;
            };
            one.after_one_ms = learn(network.sizes.smaller);
            one.after_two_ms = learn(network.sizes.larger);
            one.measured_ms = median(times_of(device, asked, network, o, run));
        }
        one.held = held_by(device, asked, network, run);
    } catch (const Error& error) {
        if (error.code() == Code::cancelled) throw;
        one.problem = error.what();
    }
    return one;
}

void print_cases(const std::vector<PredictedCase>& cases, const std::vector<BenchNetwork>& networks, bool memory) {
    const auto percent = [](double share) { return (share < 0 ? "" : "+") + fixed(share * 100, 1).text + " %"; };
    std::vector<std::vector<std::string>> rows{{"NETWORK", "DEVICE", "MEMORY PLANNED", "HELD", "OFF"}};
    if (!memory)
        for (const char* name : {"BY OPS", "OFF", "AFTER ONE", "OFF", "AFTER TWO", "OFF", "MEASURED"})
            rows[0].emplace_back(name);
    for (const PredictedCase& one : cases) {
        if (!one.problem.empty()) {
            rows.push_back({one.network, one.device, one.problem});
            continue;
        }
        std::vector<std::string> row{one.network, one.device, human_bytes(one.planned), human_bytes(one.held),
                                     percent(off(static_cast<double>(one.planned), static_cast<double>(one.held)))};
        if (!memory) {
            for (const double predicted : {one.alone_ms, one.after_one_ms, one.after_two_ms}) {
                row.push_back(fixed(predicted, 2).text + " ms");
                row.push_back(percent(off(predicted, one.measured_ms)));
            }
            row.push_back(fixed(one.measured_ms, 2).text + " ms");
        }
        rows.push_back(std::move(row));
    }
    print_table(rows);
    for (const BenchNetwork& network : networks)
        out("  {}: {} {}{}\n", network.name, network.sizes.asked, network.unit,
            memory ? Safe{""}
                   : Safe{", predicted after runs of " + std::to_string(network.sizes.smaller) + " and of " +
                          std::to_string(network.sizes.larger)});
}

void bench_predict(const PredictChoice& o, Run& run) {
    const Context context(context_options(o.choice));
    std::vector<Device> devices;
    if (o.devices.empty())
        for (const DeviceInfo& d : context.devices()) devices.push_back(context.choose(d.id));
    for (const std::string& one : listed(o.devices)) devices.push_back(context.choose(one));
    CostModel costs(context);
    std::vector<BenchNetwork> networks;
    for (const std::string& name : o.networks.empty() ? bench_network_names() : listed(o.networks)) {
        if (std::ranges::find(bench_network_names(), name) == bench_network_names().end())
            throw UsageError("--networks has no '" + name + "': there are pictures, speech and decoder");
        networks.push_back(bench_network(name));
    }
    if (!o.memory)
        for (const std::string& problem : measure_costs(costs, devices, o.again, run)) err("note: {}\n", problem);
    std::vector<PredictedCase> cases;
    for (const BenchNetwork& network : networks)
        for (const Device& device : devices) cases.push_back(case_of(costs, device, network, o, run));
    if (!run.json) return print_cases(cases, networks, o.memory);
    Json all = Json::array();
    for (const PredictedCase& one : cases)
        all.push_back({{"network", one.network},
                       {"device", one.device},
                       {"size", one.size},
                       {"planned", one.planned},
                       {"held", one.held},
                       {"by_ops_ms", one.alone_ms},
                       {"after_one_ms", one.after_one_ms},
                       {"after_two_ms", one.after_two_ms},
                       {"measured_ms", one.measured_ms},
                       {"problem", one.problem}});
    print({{"cases", all}});
}

}  // namespace

void add_bench_predict(const Command& app, Run& run) {
    const Command command =
        app.subcommand("predict", "Time and memory of three networks on each device: predicted beside measured");
    auto o = std::make_shared<PredictChoice>();
    command.option("--devices", o->devices, "Of these alone: cpu,discrete").type("FILTER,FILTER");
    command.option("--networks", o->networks, "Of pictures, speech and decoder, these alone").type("NAME,NAME");
    command.option("--runs", o->runs, "Of each of three sessions of a size, of which the median is taken")
        .shows_default()
        .in_range(1, 1000);
    command.flag("--measure", o->again, "Measure what work costs anew");
    command.flag("--memory", o->memory, "Of memory alone, by one run each");
    add_module_options(command, o->choice);
    add_json_option(command, run);
    command.footer(
        "By ops: from what work costs on the device. After one and two: after a run of a smaller size of the network, and "
        "of "
        "a larger one.\nWeights are random.\n"
        "Examples:\n  backplane bench predict\n  backplane bench predict --devices cpu,cuda --networks speech --measure");
    command.runs([o, &run] { bench_predict(*o, run); });
}

}  // namespace backplane::cli
