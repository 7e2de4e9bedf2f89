#include <charconv>
#include <chrono>
#include <map>
#include <string>

#include "backplane/runtime.hpp"
#include "base/elapsed.hpp"
#include "cli/cli.hpp"

namespace backplane::cli {

namespace {

struct ChainChoice {
    DeviceChoice choice;
    int64_t length = 200, elements = 4096;
    int runs = 20;
};

using Clock = std::chrono::steady_clock;

// Small ops one after another: in one graph; as submits of a graph of one op whose tensors stay on the device; host to host.
Graph chain(int64_t length, int64_t elements) {
    Graph g;
    TensorId at = g.input("x", DType::f32, {elements});
    const TensorId step = g.weight("step", DType::f32, {elements});
    for (int64_t k = 0; k < length; ++k) at = g.add(k % 2 == 0 ? Op::add : Op::mul, {at, step});
    g.output(at, "y");
    return g;
}

// What one run starts, by the first line of what the module says of its program ("vulkan, 13 dispatches"); 0: it does not say.
uint64_t launches_of(const std::string& summary) {
    const std::string line = summary.substr(0, summary.find('\n'));
    for (const char* word : {" dispatches", " steps", " nodes"}) {
        const size_t end = line.find(word);
        if (end == std::string::npos) continue;
        const size_t before = line.find_last_not_of("0123456789", end - 1);
        uint64_t number = 0;
        const char* first = line.data() + (before == std::string::npos ? 0 : before + 1);
        std::from_chars(first, line.data() + end, number);
        return number;
    }
    return 0;
}

template <typename Once>
double median_us(int runs, Run& run, Once once) {
    once();
    std::vector<double> us;
    for (int k = 0; k < runs; ++k) {
        if (run.interrupted != 0) throw Error(Code::cancelled, "cancelled");
        const Clock::time_point start = Clock::now();
        once();
        us.push_back(base::seconds_since(start) * 1e6);
    }
    return median(std::move(us));
}

void bench_chain(const ChainChoice& o, Run& run) {
    const Context context(context_options(o.choice));
    const Device device = open_device(context, o.choice);
    const std::vector<float> values(static_cast<size_t>(o.elements), 1.0F);
    const auto bytes = std::as_bytes(std::span(values));
    const Weights weights([&](std::string_view) { return bytes; });
    Session whole(device, chain(o.length, o.elements), weights);
    const uint64_t launches = launches_of(whole.program().info().summary);
    Session one(device, chain(1, o.elements), weights);
    const Tensor x = Tensor::from(device, DType::f32, {o.elements}, bytes);

    Tensor y(device, DType::f32, {o.elements});
    const double graph_us = median_us(o.runs, run, [&] { whole.submit({{"x", x}}, {{"y", &y}}).wait(); });
    Tensor there(device, DType::f32, {o.elements}), back(device, DType::f32, {o.elements});
    const double submits_us = median_us(o.runs, run, [&] {
        one.submit({{"x", x}}, {{"y", &there}});
        Event last;
        for (int64_t k = 1; k < o.length; ++k) {
            last = one.submit({{"x", there}}, {{"y", &back}});
            std::swap(there, back);
        }
        last.wait();
    });
    std::vector<float> room(values.size());
    const auto into = std::as_writable_bytes(std::span(room));
    const double host_us = median_us(o.runs * 50, run, [&] { one.run({{"x", bytes}}, {{"y", into}}); });

    const double n = static_cast<double>(o.length);
    if (run.json)
        return print({{"device", device.info().id},
                      {"name", device.info().name},
                      {"ops", o.length},
                      {"elements", o.elements},
                      {"graph_us_per_op", graph_us / n},
                      {"graph_launches", launches},
                      {"graph_us_per_launch", launches != 0 ? graph_us / static_cast<double>(launches) : 0},
                      {"submit_us_per_op", submits_us / n},
                      {"host_to_host_us", host_us}});
    out("{} ops of {} elements on {} ({})\n", o.length, o.elements, device.info().id, device.info().name);
    out("  in one graph, tensors on the device    {} us an op", fixed(graph_us / n, 2));
    if (launches != 0) out(", {} launches of {} us", launches, fixed(graph_us / static_cast<double>(launches), 2));
    out("\n");
    out("  a submit each, tensors on the device   {} us an op\n", fixed(submits_us / n, 2));
    out("  one op, from host to host              {} us\n", fixed(host_us, 2));
}

}  // namespace

void add_bench_chain(const Command& app, Run& run) {
    const Command command = app.subcommand("chain", "Time a chain of small ops whose tensors stay on the device");
    auto o = std::make_shared<ChainChoice>();
    command.option("--ops", o->length, "How many").shows_default().in_range(2, 100000);
    command.option("--elements", o->elements, "Of each tensor, f32").shows_default().in_range(1, 1 << 26);
    command.option("--runs", o->runs, "Of which the median is taken").shows_default().in_range(1, 100000);
    add_device_options(command, o->choice);
    add_json_option(command, run);
    command.footer(
        "Backends of GPUs make one launch of element-wise ops that follow each other; --option NAME.chains=off has each be "
        "one.\n"
        "Example:\n  backplane bench chain --device cpu --ops 200 --elements 4096");
    command.runs([o, &run] { bench_chain(*o, run); });
}

}  // namespace backplane::cli
