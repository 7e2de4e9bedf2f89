// Our own op: the same values in the other layout (row-major <-> channels-last).
#include <algorithm>

#include "ops/strided_copy.hpp"
#include "ops/table.hpp"

namespace backplane::cpu::ops::relayout {

namespace {

// Pixels of one task: whole lines of the row-major side, and at 64 channels an eighth of a second-level cache for both.
constexpr int64_t kPixels = 256;

void lower(Lowering& to, const Node& node) {
    const ValueId in = node.inputs[0];
    const ValueId out = node.output;
    const int64_t batch = to[in].dim[0];
    const int64_t channels = to[in].dim[1];
    const int64_t pixels = pixels_of(to[in]);
    const bool to_channels_last = to[out].layout == Layout::channels_last;
    if (batch * channels * pixels == 0) return;
    const int64_t blocks = (pixels + kPixels - 1) / kPixels;
    const int64_t grain = std::max<int64_t>(1, kGrainBytes / (channels * kPixels * static_cast<int64_t>(sizeof(float))));
    Step& added = to.step("relayout " + to[in].text() + (to_channels_last ? " to channels-last" : " to row-major"), {in},
                          {out}, [=, transpose = to.kernels.move.transpose](const Run& run) {
                              const float* from = run.at<float>(in);
                              float* into = run.at<float>(out);
                              run.ranges(batch * blocks, grain, [&](int64_t begin, int64_t end) {
                                  for (int64_t i = begin; i < end; ++i) {
                                      const int64_t base = i / blocks * channels * pixels;
                                      const int64_t first = i % blocks * kPixels;
                                      const int64_t count = std::min(kPixels, pixels - first);
                                      CopyTask task;
                                      task.size = sizeof(float);
                                      task.from_outer = task.into_inner = 1;
                                      if (to_channels_last) {
                                          task.from = from + base + first;
                                          task.into = into + base + first * channels;
                                          task.outer = count, task.inner = channels;
                                          task.from_inner = pixels, task.into_outer = channels;
                                      } else {
                                          task.from = from + base + first * channels;
                                          task.into = into + base + first;
                                          task.outer = channels, task.inner = count;
                                          task.from_inner = channels, task.into_outer = pixels;
                                      }
                                      transpose(task);
                                  }
                              });
                          });
    added.moved = to[out].bytes;
}

constexpr OpLowering table[] = {{kOpRelayout, Types::computes, Wants::either, 0, nullptr, lower}};

}  // namespace

const OpFamily ops_relayout = {table, std::size(table)};

}  // namespace backplane::cpu::ops::relayout
