#include <chrono>
#include <functional>

#include "backplane/runtime.hpp"
#include "cli/bench_stream_network.hpp"
#include "cli/cli.hpp"
#include "models/parakeet/random_network.hpp"

namespace backplane::cli {

namespace {

struct StreamChoice {
    DeviceChoice choice;
    int64_t budget_mib = 64, times = 3, rows = 64;
    int runs = 5;
    StreamedNetworkChoice streamed;
};

constexpr int64_t kWidth = 1024;  // of the square weights: 4 MiB each

double once_ms(int runs, Run& run, const std::function<void()>& body) {
    body();
    std::vector<double> ms;
    for (int k = 0; k < runs; ++k) {
        if (run.interrupted != 0) throw Error(Code::cancelled, "cancelled");
        const auto start = std::chrono::steady_clock::now();
        body();
        ms.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
    }
    return median(std::move(ms));
}

std::vector<std::string> networks() {
    std::vector<std::string> names = parakeet::published_sizes();
    names.insert(names.end(), {"slim", "medium", "thick"});
    return names;
}

void bench_stream(const StreamChoice& o, Run& run) {
    const Context context(context_options(o.choice));
    const Device device = open_device(context, o.choice);
    if (!o.streamed.network.empty()) return bench_stream_network(o.streamed, device, run);
    const uint64_t budget = static_cast<uint64_t>(o.budget_mib) << 20;
    const auto layers = static_cast<int64_t>(budget * static_cast<uint64_t>(o.times) / (kWidth * kWidth * sizeof(float)));
    Graph graph;
    TensorId at = graph.input("x", DType::f32, {o.rows, kWidth});
    for (int64_t k = 0; k < layers; ++k)
        at = graph.add(Op::matmul, {at, graph.weight("w " + std::to_string(k), DType::f32, {kWidth, kWidth})});
    graph.output(at, "y");
    const std::vector<float> content(kWidth * kWidth, 1.0F / kWidth), x(static_cast<size_t>(o.rows * kWidth), 1.0F);
    const WeightSource source = [&](std::string_view) { return std::as_bytes(std::span(content)); };
    std::vector<float> y(x.size());
    const auto pass = [&](Session& session) {
        session.run({{"x", std::as_bytes(std::span(x))}}, {{"y", std::as_writable_bytes(std::span(y))}});
    };

    SessionOptions options;
    options.budget = budget;
    Session streamed({device}, graph, Weights(source), options);
    const double streamed_ms = once_ms(o.runs, run, [&] { pass(streamed); });
    Session resident(device, graph, source);
    const double compute_ms = once_ms(o.runs, run, [&] { pass(resident); });
    Tensor one(device, DType::f32, {kWidth, kWidth});
    const double copy_ms = once_ms(o.runs * 4, run, [&] { one.write(std::as_bytes(std::span(content))); });
    const Json plan = Json::parse(streamed.plan_json());
    const double moved = plan["bytes_moved"].get<double>();
    const double transfer_ms = copy_ms * moved / static_cast<double>(kWidth * kWidth * sizeof(float));
    const double bound = std::max(transfer_ms, compute_ms);
    if (run.json)
        return print({{"device", device.info().id},
                      {"name", device.info().name},
                      {"budget", budget},
                      {"planned", plan["devices"][0]["bytes"]},
                      {"weights", static_cast<uint64_t>(layers) * kWidth * kWidth * sizeof(float)},
                      {"moved", moved},
                      {"streamed_ms", streamed_ms},
                      {"compute_ms", compute_ms},
                      {"transfer_ms", transfer_ms},
                      {"of_bound", bound / streamed_ms}});
    out("{} of weights through {} on {} ({})\n",
        human_bytes(static_cast<uint64_t>(layers) * kWidth * kWidth * sizeof(float)), human_bytes(budget), device.info().id,
        device.info().name);
    out("  a pass {} ms; its copies alone {} ms, its work alone {} ms: {} of what these allow\n", fixed(streamed_ms, 2),
        fixed(transfer_ms, 2), fixed(compute_ms, 2), fixed(bound / streamed_ms, 2));
}

}  // namespace

void add_bench_stream(const Command& app, Run& run) {
    const Command command = app.subcommand("stream", "Time a network whose weights do not fit into the memory it is given");
    auto o = std::make_shared<StreamChoice>();
    command.option("--budget", o->budget_mib, "MiB of the device that it may take").shows_default().in_range(64, 1 << 20);
    command.option("--times", o->times, "How many times that its weights are").shows_default().in_range(2, 16);
    command.option("--rows", o->rows, "Of the products: more of them, more work for each byte")
        .shows_default()
        .in_range(1, 8192);
    command.option("--runs", o->runs, "Of which the median is taken").shows_default().in_range(1, 1000);
    command
        .option("--network", o->streamed.network,
                "In place of products: a Parakeet network of random weights in f16, or an ESRGAN of a file in f32")
        .one_of(networks());
    command.option("--percent", o->streamed.percent, "Of its weights, that have room beside all else; 0: as few as can be")
        .shows_default()
        .separated(',');
    command.option("--save", o->streamed.save, "Keep the network's file there, and use it where it is there already")
        .type("FILE");
    command.option("--seconds", o->streamed.seconds, "Of each clip").shows_default().between(1, 1200);
    command.option("--size", o->streamed.size, "Width and height of a picture in pixels").shows_default().in_range(8, 1024);
    command.option("--batch", o->streamed.batch, "Clips at once").shows_default().in_range(1, 64);
    command.option("--passes", o->streamed.passes, "Of which the median is taken").shows_default().in_range(1, 1000);
    add_device_options(command, o->choice);
    add_json_option(command, run);
    command.footer(
        "Example:\n  backplane bench stream --budget 64 --times 3\n"
        "  backplane bench stream --network 110m --passes 3 --seconds 10 --device vulkan\n"
        "  backplane bench stream --network thick --passes 3 --device vulkan");
    command.runs([o, &run] { bench_stream(*o, run); });
}

}  // namespace backplane::cli
