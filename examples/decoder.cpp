// A cache that a prefill fills and a decoder goes on with: handed over on the device, never copied, written a row at a time where it stands,
// saved and restored once.
//
//     decoder [DEVICE]
#include <cstdint>
#include <cstdio>
#include <vector>

#include "backplane/ops.hpp"
#include "backplane/runtime.hpp"

using namespace backplane;

namespace {

constexpr int64_t kRows = 64, kWidth = 256;

// `steps` tokens at a time go into the rows of the cache from `position` on; y = the mean of each row, summed over all rows.
Graph network(int64_t steps) {
    Graph graph;
    const TensorId tokens = graph.input("tokens", DType::f32, {1, steps, kWidth});
    const TensorId position = graph.input("position", DType::i64, {1});
    const TensorId cache = graph.state("cache", DType::f32, {1, kRows, kWidth});
    const TensorId next = ops::tensor_scatter(graph, cache, tokens, position, {.axis = 1});
    graph.update(cache, next);
    const TensorId means = ops::reduce_mean(graph, next, {.axes = {2}});
    graph.output(ops::reduce_sum(graph, means, {.axes = {1}}), "y");
    return graph;
}

float run(Session& session, int64_t steps, int64_t position, float token) {
    const std::vector<float> tokens(static_cast<size_t>(steps * kWidth), token);
    float y = 0;
    session.run({{"tokens", std::as_bytes(std::span(tokens))}, {"position", std::as_bytes(std::span(&position, 1))}},
                {{"y", std::as_writable_bytes(std::span(&y, 1))}});
    return y;
}

}  // namespace

int main(int argc, char** argv) try {
    constexpr int64_t kPrompt = 32;
    const Context context;
    const Device device = context.choose(argc > 1 ? argv[1] : "");
    Session prefill(device, network(kPrompt), WeightSource());
    Session decoder(device, network(1), WeightSource());

    run(prefill, kPrompt, 0, 1.0F);                      // 32 rows of ones
    decoder.set_state("cache", prefill.state("cache"));  // shared from here on
    std::vector<float> saved(kRows * kWidth);
    decoder.state("cache").read(std::as_writable_bytes(std::span(saved)));

    float expected = kPrompt, got = 0;
    for (int step = 0; step < 10; ++step) {
        expected += static_cast<float>(step);
        got = run(decoder, 1, kPrompt + step, static_cast<float>(step));
        if (got < expected - 0.01F || got > expected + 0.01F) {
            std::printf("step %d is wrong: %g instead of %g\n", step, static_cast<double>(got),
                        static_cast<double>(expected));
            return 1;
        }
    }
    decoder.set_state("cache", Tensor::from(device, DType::f32, {1, kRows, kWidth}, std::as_bytes(std::span(saved))));
    const float again = run(decoder, 1, kPrompt, 2);
    std::printf("10 steps on %s end at %g; from the saved cache the first gives %g\n", device.info().id.c_str(),
                static_cast<double>(got), static_cast<double>(again));
    return again == kPrompt + 2 ? 0 : 1;
} catch (const Error& error) {
    std::fprintf(stderr, "decoder: %s\n", error.what());
    return 1;
}
