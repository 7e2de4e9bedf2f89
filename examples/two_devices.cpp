// A graph on the best device, with the next one for what the first does not support, and for the rest when it is lost.
//
//     two_devices [DEVICE]
#include <cmath>
#include <cstdio>
#include <vector>

#include "backplane/runtime.hpp"

using namespace backplane;

int main(int argc, char** argv) try {
    const Context context;
    const std::vector<Device> devices = context.choose_with_fallback(argc > 1 ? argv[1] : "");

    Graph graph;  // y = relu(tanh(x + x) * w)
    const TensorId x = graph.input("x", DType::f32, {4});
    const TensorId w = graph.weight("w", DType::f32, {4});
    const TensorId bent = graph.add(Op::tanh, {graph.add(Op::add, {x, x})});
    graph.output(graph.add(Op::relu, {graph.add(Op::mul, {bent, w})}), "y");

    const std::vector<float> weight{10, 20, 30, 40};
    Session session(devices, graph, Weights([&](std::string_view) { return std::as_bytes(std::span(weight)); }));
    std::printf("%s", session.describe().c_str());
    for (const std::string& note : session.notes()) std::printf("note: %s\n", note.c_str());

    const std::vector<float> in{-1, 0.5F, 1, 2};
    std::vector<float> out(4);
    session.run({{"x", std::as_bytes(std::span(in))}}, {{"y", std::as_writable_bytes(std::span(out))}});
    for (size_t i = 0; i < 4; ++i)
        if (std::abs(out[i] - std::max(0.0F, std::tanh(2 * in[i]) * weight[i])) > 1e-3F) {
            std::printf("element %zu is wrong: %g\n", i, static_cast<double>(out[i]));
            return 1;
        }
    std::printf("right\n");
} catch (const Error& error) {
    std::fprintf(stderr, "two_devices: %s\n", error.what());
    return 1;
}
