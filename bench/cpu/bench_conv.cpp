// Times the layers of ESRGAN medium x2 alone and the whole network, with random weights.
//
//   bench_conv [THREADS [RUNS]]     GFLOP/s are those of direct convolution, so Winograd may pass the FMA peak
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "bp_bench_peak.h"
#include "harness.hpp"

using namespace harness;

namespace {

// Builds convolutions and counts their multiply-adds.
struct Network {
    Graph g;
    double flops = 0;
    unsigned seed = 1;

    uint32_t conv(uint32_t x, int64_t out, int64_t k) {
        const Dims d = g.dims(x);
        const float scale = 1.0f / std::sqrt(static_cast<float>(d[1] * k * k));
        const auto w = g.weight({out, d[1], k, k}, random_floats(out * d[1] * k * k, ++seed, scale));
        const auto b = g.weight({out}, random_floats(out, ++seed));
        flops += 2.0 * static_cast<double>(out * d[1] * k * k * d[2] * d[3]);
        return g.add(BP_OP_conv, {x, w, b}, {1, out, d[2], d[3]}, {list(BP_ATTR_pads, {k / 2, k / 2, k / 2, k / 2})});
    }
    uint32_t relu(uint32_t x) { return g.add(BP_OP_relu, {x}, g.dims(x)); }
    uint32_t add(uint32_t x, uint32_t y) { return g.add(BP_OP_add, {x, y}, g.dims(x)); }
    uint32_t concat(const std::vector<uint32_t>& parts) {
        Dims d = g.dims(parts[0]);
        d[1] = 0;
        for (const uint32_t p : parts) d[1] += g.dims(p)[1];
        return g.add(BP_OP_concat, parts, d, {integer(BP_ATTR_axis, 1)});
    }
};

void medium(Network& n, int64_t size) {
    const auto x = n.g.input({1, 3, size, size}, random_floats(3 * size * size, 1, 255.0f));
    const auto first = n.conv(x, 64, 3);
    auto y = n.conv(first, 64, 3);
    std::vector<uint32_t> blocks;
    for (int i = 0; i < 10; ++i) {
        const auto r = n.relu(n.conv(y, 64, 3));
        y = n.add(y, n.conv(n.concat({y, r}), 64, 1));
        blocks.push_back(y);
    }
    y = n.add(n.conv(n.conv(n.concat(blocks), 64, 1), 64, 3), first);
    y = n.relu(n.conv(y, 64, 5));
    y = n.relu(n.conv(y, 32, 3));
    y = n.conv(y, 12, 3);
    y = n.g.add(BP_OP_resize, {y}, {1, 12, 2 * size, 2 * size}, {list(BP_ATTR_sizes, {2 * size, 2 * size})});
    n.g.output(n.conv(y, 3, 3));
}

struct Time {
    double least, median;
};

Time measure(Device& device, Network& n, int runs, std::string* summary = nullptr) {
    Program p(device, n.g);
    if (summary != nullptr) *summary = p.info.summary;
    p.run();
    std::vector<double> ms;
    for (int i = 0; i < runs; ++i) {
        const auto start = std::chrono::steady_clock::now();
        p.run();
        ms.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
    }
    std::sort(ms.begin(), ms.end());
    return {ms.front(), ms[ms.size() / 2]};
}

struct Layer {
    int64_t in, out, kernel;
};

}  // namespace

int main(int argc, char** argv) {
    const std::string threads = argc > 1 ? argv[1] : "1";
    const int runs = argc > 2 ? std::atoi(argv[2]) : 9;
    const char* mask = std::getenv("BENCH_CPU_MASK");
    Device device({mask != nullptr ? mask : "", threads});
    const auto* peak = static_cast<const bp_bench_peak*>(device.extension("bp.bench.peak"));
    const double gflops = peak != nullptr ? peak->gflops(static_cast<uint32_t>(std::atoi(threads.c_str()))) : 0;
    const double gbytes = peak != nullptr ? peak->read_gbytes(static_cast<uint32_t>(std::atoi(threads.c_str()))) : 0;
    std::printf("%s, %s threads, FMA peak %.0f GFLOP/s, memory read %.1f GB/s\n", device.level().c_str(), threads.c_str(),
                gflops, gbytes);
    for (const int64_t size : {128, 256}) {
        for (const Layer l : {Layer{3, 64, 3},
                              {64, 64, 3},
                              {128, 64, 1},
                              {640, 64, 1},
                              {64, 64, 5},
                              {64, 32, 3},
                              {32, 12, 3},
                              {12, 12, 3}}) {
            Network n;
            n.g.output(
                n.conv(n.relu(n.g.input({1, l.in, size, size}, random_floats(l.in * size * size, 1))), l.out, l.kernel));
            const Time t = measure(device, n, runs);
            std::printf("%4ld  %3ld->%3ld %ldx%ld  %8.2f ms  %7.1f GFLOP/s  %5.2f of peak\n", size, l.in, l.out, l.kernel,
                        l.kernel, t.least, n.flops / t.least / 1e6, gflops > 0 ? n.flops / t.least / 1e6 / gflops : 0);
        }
        Network n;
        medium(n, size);
        std::string summary;
        const Time t = measure(device, n, runs, &summary);
        if (size == 128 && std::getenv("BENCH_SUMMARY") != nullptr) std::printf("%s", summary.c_str());
        std::printf("%4ld  medium x2     %8.2f ms (median %.2f)  %7.1f GFLOP/s  %5.2f of peak\n", size, t.least, t.median,
                    n.flops / t.least / 1e6, gflops > 0 ? n.flops / t.least / 1e6 / gflops : 0);
    }
}
