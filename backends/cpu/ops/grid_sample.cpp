// GridSample: where a piece of the result comes from, and by which weights, is found once for all channels.
#include <cmath>

#include "common/resize_taps.hpp"
#include "ops/table.hpp"

namespace backplane::cpu::ops::grid_sample {

namespace {

using backplane::ops::SampleMode;
using backplane::ops::SamplePadding;

constexpr int64_t kPiece = 256;  // places that share a table

double reflected(double p, double least, double most) {
    const double range = most - least;
    if (range <= 0) return least;
    const double turns = std::fmod(std::fabs(p - least), 2 * range);
    return turns <= range ? least + turns : most - (turns - range);
}

struct Task {
    int64_t images = 0, channels = 0, map = 1, places = 1, axes = 0;
    std::vector<int64_t> extents;
    int64_t along = 2, taps = 1;  // elements that a place has along an axis, and of all axes
    backplane::ops::GridSampleAttributes how;

    [[nodiscard]] bool cubic() const { return how.mode == SampleMode::cubic; }
    // p by reflection within the axis.
    [[nodiscard]] double turned(double p, double size) const {
        return how.align_corners ? reflected(p, 0, size - 1) : reflected(p, -0.5, size - 0.5);
    }

    [[nodiscard]] double place(double g, int64_t extent) const {
        const auto size = static_cast<double>(extent);
        if (std::isnan(g)) g = -1;
        double p = how.align_corners ? (g + 1) / 2 * (size - 1) : ((g + 1) * size - 1) / 2;
        if (how.mode == SampleMode::nearest) p = std::nearbyint(p);
        if (how.padding_mode == SamplePadding::zeros || (cubic() && how.padding_mode == SamplePadding::border))
            return std::clamp(p, -2.0, size + 1);
        if (how.padding_mode == SamplePadding::reflection && std::isfinite(p)) p = turned(p, size);
        return std::clamp(p, 0.0, size - 1);
    }
    // The element that an element of the cubic mode is, which may be beside the axis.
    [[nodiscard]] int64_t within(int64_t i, int64_t extent) const {
        if (!cubic() || how.padding_mode == SamplePadding::zeros) return i;
        if (how.padding_mode == SamplePadding::border) return std::clamp<int64_t>(i, 0, extent - 1);
        return static_cast<int64_t>(turned(static_cast<double>(i), static_cast<double>(extent)));
    }

    // Of one place, given last axis first: elements of a map and their weights, 0 of what is beside it.
    void find(const float* grid, int32_t* at, float* weight) const {
        at[0] = 0;
        weight[0] = 1;
        int64_t count = 1;
        for (int64_t a = 0; a < axes; ++a) {
            const int64_t extent = extents[static_cast<size_t>(a)];
            const double p = place(grid[axes - 1 - a], extent);
            const int64_t first = static_cast<int64_t>(std::floor(p)) + 1 - along / 2;
            int64_t elements[4];
            float parts[4];
            for (int64_t j = 0; j < along; ++j) {
                const double away = std::fabs(p - static_cast<double>(first + j));
                elements[j] = within(first + j, extent);
                const bool there = elements[j] >= 0 && elements[j] < extent;
                parts[j] = there ? static_cast<float>(cubic() ? backend::cubic_weight(away, -0.75) : 1 - away) : 0;
                if (!there) elements[j] = 0;
            }
            for (int64_t k = count; k-- > 0;) {
                const int64_t row = static_cast<int64_t>(at[k]) * extent;
                const float of_row = weight[k];
                for (int64_t j = 0; j < along; ++j) {
                    at[along * k + j] = static_cast<int32_t>(row + elements[j]);
                    weight[along * k + j] = of_row * parts[j];
                }
            }
            count *= along;
        }
    }

    void run(const float* x, const float* grid, float* y, int64_t n, int32_t* at, float* weight) const {
        for (int64_t i = 0; i < n; ++i) find(grid + i * axes, at + i * taps, weight + i * taps);
        for (int64_t c = 0; c < channels; ++c)
            for (int64_t i = 0; i < n; ++i) {
                float sum = 0;
                for (int64_t k = i * taps; k < (i + 1) * taps; ++k)
                    if (weight[k] != 0) sum += x[c * map + at[k]] * weight[k];
                y[c * places + i] = sum;
            }
    }
};

void lower(Lowering& to, const Node& node) {
    const ValueId x = node.inputs[0];
    const ValueId grid = node.inputs[1];
    const ValueId y = node.output;
    if (to[y].elements() == 0) return;
    Task t;
    t.how = node.as<backplane::ops::GridSampleAttributes>();
    t.images = to[x].dim[0];
    t.channels = to[x].dim[1];
    t.extents.assign(to[x].dim.begin() + 2, to[x].dim.end());
    t.axes = static_cast<int64_t>(t.extents.size());
    for (const int64_t extent : t.extents) t.map *= extent;
    if (t.cubic()) t.along = 4;
    for (int64_t a = 0; a < t.axes; ++a) t.taps *= t.along;
    t.places = to[y].elements() / t.images / t.channels;
    to.lane_scratch(static_cast<uint64_t>(kPiece * t.taps) * (sizeof(int32_t) + sizeof(float)));
    to.step(step_label(to, node), {x, grid}, {y}, [=](const Run& run) {
        const int64_t pieces = (t.places + kPiece - 1) / kPiece;
        run.parallel(t.images * pieces, [&](uint32_t i, std::byte* scratch) {
            const int64_t image = i / pieces;
            const int64_t first = i % pieces * kPiece;
            auto* at = reinterpret_cast<int32_t*>(scratch);
            t.run(run.at<float>(x) + image * t.channels * t.map, run.at<float>(grid) + (image * t.places + first) * t.axes,
                  run.at<float>(y) + image * t.channels * t.places + first, std::min(kPiece, t.places - first), at,
                  reinterpret_cast<float*>(at + kPiece * t.taps));
        });
    });
}

Verdict check(const Plan& plan, const Node& node) {
    const Value& x = plan[node.inputs[0]];
    if (x.elements() > INT32_MAX) return {BP_WHY_LIMIT, node.text() + " takes no maps as large as " + x.text()};
    return {};
}

constexpr OpLowering table[] = {{BP_OP_grid_sample, Types::computes, Wants::row_major, 0, check, lower}};

}  // namespace

const OpFamily ops_grid_sample = {table, std::size(table)};

}  // namespace backplane::cpu::ops::grid_sample
