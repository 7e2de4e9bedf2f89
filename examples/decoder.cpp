// A state that a prefill fills and a decoder goes on with: handed over on the device, never copied, saved and restored once.
//
//     decoder [DEVICE]
#include <cstdio>
#include <vector>

#include "backplane/runtime.hpp"

using namespace backplane;

namespace {

constexpr int64_t kWidth = 256;

// `steps` tokens at a time: memory = 0.5 memory + sum of the tokens; y = its mean.
Graph network(int64_t steps) {
    Graph graph;
    const TensorId tokens = graph.input("tokens", DType::f32, {steps, kWidth});
    const TensorId memory = graph.state("memory", DType::f32, {1, kWidth});
    const TensorId sum = graph.add(Op::reduce_sum, {tokens}, {{Attr::axes, {0}}});
    const TensorId next = graph.add(Op::add, {graph.add(Op::mul, {memory, graph.constant(0.5F)}), sum});
    graph.update(memory, next);
    graph.output(graph.add(Op::reduce_mean, {next}, {{Attr::axes, {1}}}), "y");
    return graph;
}

float run(Session& session, int64_t steps, float token) {
    const std::vector<float> tokens(static_cast<size_t>(steps * kWidth), token);
    float y = 0;
    session.run({{"tokens", std::as_bytes(std::span(tokens))}}, {{"y", std::as_writable_bytes(std::span(&y, 1))}});
    return y;
}

}  // namespace

int main(int argc, char** argv) try {
    const Context context;
    const Device device = context.choose(argc > 1 ? argv[1] : "");
    Session prefill(device, network(32), WeightSource());
    Session decoder(device, network(1), WeightSource());

    run(prefill, 32, 1.0F);                                // memory = 32
    decoder.set_state("memory", prefill.state("memory"));  // shared from here on
    std::vector<float> saved(kWidth);
    decoder.state("memory").read(std::as_writable_bytes(std::span(saved)));

    float expected = 32, got = 0;
    for (int step = 0; step < 10; ++step) {
        expected = expected / 2 + static_cast<float>(step);
        got = run(decoder, 1, static_cast<float>(step));
        if (got < expected - 0.01F || got > expected + 0.01F) {
            std::printf("step %d is wrong: %g instead of %g\n", step, static_cast<double>(got),
                        static_cast<double>(expected));
            return 1;
        }
    }
    decoder.set_state("memory", Tensor::from(device, DType::f32, {1, kWidth}, std::as_bytes(std::span(saved))));
    const float again = run(decoder, 1, 0);
    std::printf("10 steps on %s end at %g; from the saved state the first gives %g\n", device.info().id.c_str(),
                static_cast<double>(got), static_cast<double>(again));
    return again == 16 ? 0 : 1;
} catch (const Error& error) {
    std::fprintf(stderr, "decoder: %s\n", error.what());
    return 1;
}
