#include <chrono>

#include "backplane/runtime.hpp"
#include "base/elapsed.hpp"
#include "cli/cli.hpp"

namespace backplane::cli {

namespace {

using Clock = std::chrono::steady_clock;

struct PlanBench {
    DeviceChoice choice;
    int64_t layers = 24, width = 64, length = 100;
    bool unrolled = false;
    int runs = 9;
};

// The ops of an encoder's layer with their shapes for one length; about 40 a layer, as exporters write them.
TensorId layer(Graph& g, TensorId x, int64_t k, int64_t length, int64_t width) {
    const auto weight = [&](const char* name, Shape shape) {
        return g.weight("layer " + std::to_string(k) + " " + name, DType::f32, std::move(shape));
    };
    constexpr int64_t kHeads = 4;
    const auto normalised = [&](TensorId in, const char* gain, const char* bias) {
        return g.add(Op::layer_norm, {in, weight(gain, {width}), weight(bias, {width})});
    };
    const auto projected = [&](TensorId in, const char* name, const char* bias) {
        return g.add(Op::add, {g.add(Op::matmul, {in, weight(name, {width, width})}), weight(bias, {width})});
    };
    const auto heads = [&](TensorId in) {
        const TensorId split = g.add(Op::reshape, {in}, {{Attr::shape, {length, kHeads, width / kHeads}}});
        return g.add(Op::transpose, {split}, {{Attr::perm, {1, 0, 2}}});
    };
    const TensorId in = normalised(x, "norm 1", "norm 1 bias");
    const TensorId q = heads(projected(in, "q", "q bias")), v = heads(projected(in, "v", "v bias"));
    const TensorId keys = g.add(Op::transpose, {heads(projected(in, "k", "k bias"))}, {{Attr::perm, {0, 2, 1}}});
    const TensorId scores = g.add(Op::softmax, {g.add(Op::mul, {g.add(Op::matmul, {q, keys}), g.constant(0.25F)})});
    const TensorId mixed = g.add(Op::transpose, {g.add(Op::matmul, {scores, v})}, {{Attr::perm, {1, 0, 2}}});
    const TensorId joined = g.add(Op::reshape, {mixed}, {{Attr::shape, {length, width}}});
    x = g.add(Op::add, {x, projected(joined, "o", "o bias")});
    const TensorId wide = g.add(Op::gelu, {projected(normalised(x, "norm 2", "norm 2 bias"), "up", "up bias")});
    return g.add(Op::add, {x, projected(wide, "down", "down bias")});
}

// An LSTM as exporters unroll one, 19 nodes a step. What all steps say is joined at the end, so that it all lives to it; the cell goes out times
// the length, by which graphs differ.
Graph unrolled(const PlanBench& o, int64_t length) {
    Graph g;
    const int64_t width = o.width;
    const auto weight = [&](const char* name) { return g.weight(name, DType::f32, {width, 4 * width}); };
    const auto row = [&](TensorId of, int64_t at, int64_t from) {
        return g.add(Op::slice, {of},
                     {{Attr::starts, {at, from}}, {Attr::ends, {at + 1, from + width}}, {Attr::steps, {1, 1}}});
    };
    const TensorId x = g.input("x", DType::f32, {o.layers, width}), w = weight("input"), r = weight("state");
    TensorId h = g.input("h", DType::f32, {1, width}), c = g.input("c", DType::f32, {1, width});
    std::vector<TensorId> said;
    for (int64_t step = 0; step < o.layers; ++step) {
        const TensorId all = g.add(Op::add, {g.add(Op::matmul, {row(x, step, 0), w}), g.add(Op::matmul, {h, r})});
        const auto gate = [&](int64_t k, Op op) { return g.add(op, {row(all, 0, k * width)}); };
        const TensorId in = gate(0, Op::sigmoid), out = gate(1, Op::sigmoid), kept = gate(2, Op::sigmoid);
        c = g.add(Op::add, {g.add(Op::mul, {kept, c}), g.add(Op::mul, {in, gate(3, Op::tanh)})});
        h = g.add(Op::mul, {out, g.add(Op::tanh, {c})});
        said.push_back(h);
    }
    g.output(g.add(Op::concat, said, {{Attr::axis, int64_t{0}}}), "y");
    g.output(g.add(Op::mul, {c, g.constant(static_cast<float>(length))}), "c");
    return g;
}

Graph encoder(const PlanBench& o, int64_t length) {
    Graph g;
    TensorId x = g.input("x", DType::f32, {length, o.width});
    for (int64_t k = 0; k < o.layers; ++k) x = layer(g, x, k, length, o.width);
    g.output(x, "y");
    return g;
}

void bench_plan(const PlanBench& o, Run& run) {
    const Context context(context_options(o.choice));
    const Device device = open_device(context, o.choice);
    const std::vector<float> zeros(static_cast<size_t>(4 * o.width * o.width), 0.0F);
    const Weights source([&](std::string_view name) {
        const bool matrix = name.find("bias") == std::string_view::npos && name.find("norm") == std::string_view::npos;
        const int64_t rows = o.unrolled ? 4 * o.width : matrix ? o.width : 1;
        return std::as_bytes(std::span(zeros)).first(static_cast<size_t>(rows * o.width) * sizeof(float));
    });
    const auto ms_since = [](Clock::time_point start) { return base::seconds_since(start) * 1e3; };
    const Clock::time_point first = Clock::now();
    const auto network = o.unrolled ? unrolled : encoder;
    const Session known(device, network(o, o.length), source);
    const double first_ms = ms_since(first);
    std::vector<double> graph_ms, plan_ms, known_ms;
    uint64_t kernels = 0, hits = 0;
    const uint64_t held = source.bytes_on(device);
    for (int k = 1; k <= o.runs; ++k) {
        if (run.interrupted != 0) throw Error(Code::cancelled, "cancelled");
        const Clock::time_point start = Clock::now();
        const Graph graph = network(o, o.length + k);
        graph_ms.push_back(ms_since(start));
        const Clock::time_point planned = Clock::now();
        const Session session(device, graph, source);
        plan_ms.push_back(ms_since(planned));
        kernels = session.program().info().kernels;
        hits = session.program().info().cache_hits;
        const Clock::time_point again = Clock::now();
        const Session once_more(device, graph, source);
        known_ms.push_back(ms_since(again));
    }
    const size_t nodes = known.graph().nodes().size();
    const uint64_t more = source.bytes_on(device) - held;
    if (run.json)
        return print({{"device", device.info().id},
                      {"name", device.info().name},
                      {"nodes", nodes},
                      {"first_ms", first_ms},
                      {"graph_ms", median(graph_ms)},
                      {"plan_ms", median(plan_ms)},
                      {"known_ms", median(known_ms)},
                      {"kernels", kernels},
                      {"cache_hits", hits},
                      {"more_weight_bytes", more}});
    out("{} of {} {}, {} nodes, on {} ({})\n", o.unrolled ? "an unrolled LSTM" : "an encoder", o.layers,
        o.unrolled ? "steps" : "layers", nodes, device.info().id, device.info().name);
    out("  first length, with its weights   {} ms\n", fixed(first_ms, 2));
    out("  a new length                     {} ms for its plan, {} ms for its graph\n", fixed(median(plan_ms), 2),
        fixed(median(graph_ms), 2));
    out("  a length that is known           {} ms\n", fixed(median(known_ms), 2));
    out("  weights copied for new lengths   {}\n", human_bytes(more));
}

}  // namespace

void add_bench_plan(const Command& app, Run& run) {
    const Command command = app.subcommand("plan", "Time the plan of a known network for a new length");
    auto o = std::make_shared<PlanBench>();
    command.option("--layers", o->layers, "Of the encoder, or steps of the LSTM").shows_default().in_range(1, 2000);
    command.flag("--unrolled", o->unrolled,
                 "An LSTM that is unrolled in place of an encoder: 19 nodes a step, which live to the end");
    command.option("--width", o->width, "Of its features, a multiple of 4").shows_default().in_range(4, 4096);
    command.option("--length", o->length, "Of the first input, in tokens").shows_default().in_range(1, 8192);
    command.option("--runs", o->runs, "New lengths, of which the median is taken").shows_default().in_range(1, 1000);
    add_device_options(command, o->choice);
    add_json_option(command, run);
    command.footer("Example:\n  backplane bench plan --device cpu --layers 24");
    command.runs([o, &run] { bench_plan(*o, run); });
}

}  // namespace backplane::cli
