// A decoder's step whose cache stays where it is: what it moves, and how long it takes beside one with a cache of a 64th of the size.
#include <algorithm>
#include <chrono>

#include "backplane/ops.hpp"
#include "backplane/runtime.hpp"
#include "base/elapsed.hpp"
#include "cli/cli.hpp"

namespace backplane::cli {

namespace {

struct StateChoice {
    DeviceChoice choice;
    int64_t megabytes = 100, width = 1024;
    int runs = 50;
};

constexpr int64_t kPart = 64;  // of the cache: the small one beside it

// A row goes into the cache at `position`; y is the row that stands there then.
Graph network(int64_t rows, int64_t width) {
    Graph g;
    const TensorId row = g.input("row", DType::f32, {1, 1, width});
    const TensorId position = g.input("position", DType::i64, {1});
    const TensorId cache = g.state("cache", DType::f32, {1, rows, width});
    const TensorId next = ops::tensor_scatter(g, cache, row, position, {.axis = 1});
    g.update(cache, next);
    g.output(ops::gather(g, next, position, {.axis = 1}), "y");
    return g;
}

struct Steps {
    uint64_t cache_bytes = 0, moved = 0;  // by the step that moved most
    double us = 0;
    bool right = true;  // each step's row came back, and all of them stand in the cache at the end
};

// Row k is k + 1 throughout.
Steps steps_of(const Device& device, int64_t rows, const StateChoice& o, const Run& run) {
    Session session(device, network(rows, o.width), WeightSource());
    Steps steps;
    std::vector<float> row(static_cast<size_t>(o.width)), back(row.size());
    std::vector<double> us;
    const int64_t count = std::min<int64_t>(rows, o.runs + 1);
    for (int64_t k = 0; k < count; ++k) {
        if (run.interrupted != 0) throw Error(Code::cancelled, "cancelled");
        const auto value = static_cast<float>(k + 1);
        std::ranges::fill(row, value);
        const auto started = std::chrono::steady_clock::now();
        const Event step =
            session.submit({{"row", std::as_bytes(std::span(row))}, {"position", std::as_bytes(std::span(&k, 1))}},
                           {{"y", std::as_writable_bytes(std::span(back))}});
        step.wait();
        us.push_back(base::seconds_since(started) * 1e6);
        steps.moved = std::max(steps.moved, step.bytes_moved());
        steps.right = steps.right && back == row;
    }
    steps.us = median(std::move(us));
    const Tensor cache = session.state("cache");
    steps.cache_bytes = cache.size();
    std::vector<float> whole(static_cast<size_t>(rows * o.width));
    cache.read(std::as_writable_bytes(std::span(whole)));
    for (int64_t k = 0; k < count; ++k)
        steps.right = steps.right && whole[static_cast<size_t>(k * o.width)] == static_cast<float>(k + 1);
    return steps;
}

void bench_state(const StateChoice& o, Run& run) {
    const Context context(context_options(o.choice));
    const Device device = open_device(context, o.choice);
    const int64_t row_bytes = o.width * static_cast<int64_t>(sizeof(float));
    const int64_t rows = std::max<int64_t>(kPart, o.megabytes * 1000 * 1000 / row_bytes);
    const Steps whole = steps_of(device, rows, o, run), part = steps_of(device, rows / kPart, o, run);
    if (!whole.right || !part.right) throw Error(Code::internal, device.info().id + " does not keep the rows of the cache");
    if (run.json)
        return print({{"device", device.info().id},
                      {"name", device.info().name},
                      {"cache_bytes", whole.cache_bytes},
                      {"row_bytes", row_bytes},
                      {"moved_bytes", whole.moved},
                      {"step_us", whole.us},
                      {"small_cache_bytes", part.cache_bytes},
                      {"small_step_us", part.us}});
    out("a row written into a cache, and read from it, on {} ({})\n", device.info().id, device.info().name);
    out("  a cache of {}   {} us a step, host to host\n", human_bytes(whole.cache_bytes), fixed(whole.us, 1));
    out("  a cache of {}   {} us a step\n", human_bytes(part.cache_bytes), fixed(part.us, 1));
    out("  moved by a step, at most  {} bytes; a row in and a row out have {}\n", whole.moved, 2 * row_bytes);
}

}  // namespace

void add_bench_state(const Command& app, Run& run) {
    const Command command = app.subcommand("state", "Time a decoder's step with a large cache, and count what it moves");
    auto o = std::make_shared<StateChoice>();
    command.option("--megabytes", o->megabytes, "Of the cache").shows_default().in_range(1, 100000);
    command.option("--width", o->width, "Of its rows, f32").shows_default().in_range(1, 1 << 16);
    command.option("--runs", o->runs, "Steps, of which the median is taken").shows_default().in_range(1, 100000);
    add_device_options(command, o->choice);
    add_json_option(command, run);
    command.footer("Example:\n  backplane bench state --device cpu --megabytes 100");
    command.runs([o, &run] { bench_state(*o, run); });
}

}  // namespace backplane::cli
