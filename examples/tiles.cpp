// A feed-forward network over an image in tiles. Up to three tiles are under way: the next one goes up while one is computed and the one
// before comes down, where the device can do that at once.
//
//     tiles [DEVICE]
#include <cstdio>
#include <deque>
#include <vector>

#include "backplane/runtime.hpp"

using namespace backplane;

int main(int argc, char** argv) try {
    constexpr int64_t kTile = 64, kTiles = 12;
    const Context context;
    const Device device = context.choose(argc > 1 ? argv[1] : "");

    Graph graph;  // y = relu(conv(x, w))
    const TensorId x = graph.input("x", DType::f32, {1, 3, kTile, kTile});
    const TensorId w = graph.weight("w", DType::f32, {8, 3, 3, 3});
    graph.output(graph.add(Op::relu, {graph.add(Op::conv, {x, w}, {{Attr::pads, {1, 1, 1, 1}}})}), "y");

    const std::vector<float> weight(8 * 3 * 3 * 3, 1.0F / 27);
    Session session(device, graph, [&](std::string_view) { return std::as_bytes(std::span(weight)); });
    std::printf("%s", session.describe().c_str());

    std::vector<std::vector<float>> in(kTiles), out(kTiles);
    std::vector<Event> events;
    for (size_t k = 0; k < kTiles; ++k) {
        in[k].assign(3 * kTile * kTile, static_cast<float>(k));
        out[k].resize(8 * kTile * kTile);
        events.push_back(
            session.submit({{"x", std::as_bytes(std::span(in[k]))}}, {{"y", std::as_writable_bytes(std::span(out[k]))}}));
    }
    for (size_t k = 0; k < kTiles; ++k) {
        events[k].wait();
        const float middle = out[k][kTile * kTile / 2 + kTile / 2];
        if (middle < static_cast<float>(k) - 0.01F || middle > static_cast<float>(k) + 0.01F) {
            std::printf("tile %zu is wrong: %g\n", k, static_cast<double>(middle));
            return 1;
        }
    }
    std::printf("%lld tiles on %s are right\n", static_cast<long long>(kTiles), device.info().id.c_str());
} catch (const Error& error) {
    std::fprintf(stderr, "tiles: %s\n", error.what());
    return 1;
}
