// A network whose weights are larger than the memory it may take: a part of them stays on the device, the others come for each run into two
// places in turns.
//
//     streamed [DEVICE]
#include <cstdio>
#include <vector>

#include "backplane/runtime.hpp"

using namespace backplane;

int main(int argc, char** argv) try {
    constexpr int64_t kLayers = 32, kWidth = 128;
    constexpr uint64_t kBudget = uint64_t{1} << 20;  // bytes; the weights have two million
    const Context context;
    const Device device = context.choose(argc > 1 ? argv[1] : "");

    Graph graph;  // y = x times w 0 times w 1 ...
    TensorId at = graph.input("x", DType::f32, {1, kWidth});
    for (int64_t k = 0; k < kLayers; ++k)
        at = graph.add(Op::matmul, {at, graph.weight("w " + std::to_string(k), DType::f32, {kWidth, kWidth})});
    graph.output(at, "y");

    std::vector<std::vector<float>> weights(kLayers, std::vector<float>(kWidth * kWidth));
    for (size_t k = 0; k < kLayers; ++k)  // once and twice the identity in turns
        for (size_t i = 0; i < kWidth; ++i) weights[k][i * kWidth + i] = static_cast<float>(1 + k % 2);
    SessionOptions options;
    options.budget = kBudget;
    Session session({device}, graph, Weights([&](std::string_view name) {
                        return std::as_bytes(std::span(weights.at(std::stoul(std::string(name.substr(2))))));
                    }),
                    options);
    std::printf("%s", session.describe().c_str());

    const std::vector<float> in(kWidth, 1.0F);
    for (int pass = 0; pass < 3; ++pass) {
        std::vector<float> out(kWidth);
        session.run({{"x", std::as_bytes(std::span(in))}}, {{"y", std::as_writable_bytes(std::span(out))}});
        if (out.front() != 65536 || out.back() != 65536) {  // 2 to the 16th
            std::printf("pass %d is wrong: %g\n", pass, static_cast<double>(out.front()));
            return 1;
        }
    }
    std::printf("right\n");
} catch (const Error& error) {
    std::fprintf(stderr, "streamed: %s\n", error.what());
    return 1;
}
