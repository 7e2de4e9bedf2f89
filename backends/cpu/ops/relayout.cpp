// Our own op: the same values in the other layout (row-major <-> channels-last).
#include "ops/table.hpp"

namespace backplane::cpu {

namespace {

// Blocks of 16 pixels by all channels keep both sides within a few cache lines at a time.
constexpr int64_t kBlock = 16;

void transpose_block(const float* from, int64_t from_row, float* into, int64_t into_row, int64_t rows, int64_t columns) {
    for (int64_t r = 0; r < rows; ++r)
        for (int64_t c = 0; c < columns; ++c) into[c * into_row + r] = from[r * from_row + c];
}

void lower(Lowering& to, const Node& node) {
    const ValueId in = node.inputs[0];
    const ValueId out = node.output;
    const int64_t batch = to[in].dim[0];
    const int64_t channels = to[in].dim[1];
    const int64_t pixels = to[in].dim[2] * to[in].dim[3];
    const bool to_channels_last = to[out].layout == Layout::channels_last;
    const int64_t blocks = (pixels + kBlock - 1) / kBlock;
    to.step("relayout " + to[in].text() + (to_channels_last ? " to channels-last" : " to row-major"), {in}, {out},
            [=](const Run& run) {
                const float* from = run.at<float>(in);
                float* into = run.at<float>(out);
                run.ranges(batch * blocks, 16, [&](int64_t begin, int64_t end) {
                    for (int64_t i = begin; i < end; ++i) {
                        const int64_t base = i / blocks * channels * pixels;
                        const int64_t first = i % blocks * kBlock;
                        const int64_t count = std::min(kBlock, pixels - first);
                        if (to_channels_last) {
                            transpose_block(from + base + first, pixels, into + base + first * channels, channels, channels,
                                            count);
                        } else {
                            transpose_block(from + base + first * channels, channels, into + base + first, pixels, count,
                                            channels);
                        }
                    }
                });
            });
}

constexpr OpLowering table[] = {{kOpRelayout, Types::computes, Wants::either, 0, nullptr, lower}};

}  // namespace

const OpFamily ops_relayout = {table, std::size(table)};

}  // namespace backplane::cpu
