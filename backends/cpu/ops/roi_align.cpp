// RoiAlign: of a part, which rows and columns of the map it takes and by which weights is found once for all channels. The mean of places between
// elements is then a sum of rows of sums of elements, each read once however many places there are.
#include <cmath>
#include <limits>

#include "ops/table.hpp"

namespace backplane::cpu::ops::roi_align {

namespace {

using backplane::ops::RoiCoordinates;
using backplane::ops::RoiMode;

struct Place {
    int32_t low, high;
    float to_low, to_high;
};

// Of one part along one axis.
struct Part {
    std::vector<Place> there;
    std::vector<float> weights;  // of elements from `first` on, for the mean
    int64_t first = 0;
    double count = 0;  // of places, with those that are beside the map
};

struct Axis {
    double from = 0, step = 0, size = 0;
    int64_t ratio = 0;

    Axis(double a, double b, int64_t parts, int64_t elements, const backplane::ops::RoiAlignAttributes& how)
        : size(static_cast<double>(elements)), ratio(how.sampling_ratio) {
        const bool half = how.coordinates == RoiCoordinates::half_pixel;
        from = a * how.scale - (half ? 0.5 : 0);
        const double length = b * how.scale - (half ? 0.5 : 0) - from;
        step = (half || std::isnan(length) ? length : std::max(length, 1.0)) / static_cast<double>(parts);
    }

    void find(int64_t index, Part& part) const {
        part.there.clear();
        part.weights.clear();
        part.count = static_cast<double>(ratio);
        if (!std::isfinite(from) || !std::isfinite(step)) return;
        if (ratio == 0) part.count = std::max(0.0, std::ceil(step));
        if (part.count == 0) return;
        const double begin = from + static_cast<double>(index) * step;
        double first = 0, last = part.count - 1;
        if (ratio == 0) {  // a region of any size has as many places, of which few are on the map
            const double pixel = step / part.count;
            first = std::max(first, std::floor((-1 - begin) / pixel) - 1);
            last = std::min(last, std::ceil((size - begin) / pixel) + 1);
        }
        // Counted from the first: where numbers are so large that one more is the same, this ends all the same.
        const double most = std::max(size + 4, static_cast<double>(ratio));
        for (double k = 0; k <= std::min(last - first, most); ++k)
            add(begin + (first + k + 0.5) * step / part.count, part.there);
        weigh(part);
    }

private:
    void add(double p, std::vector<Place>& to) const {
        if (!(p >= -1 && p <= size) || size == 0) return;
        p = std::clamp(p, 0.0, size - 1);
        const double low = std::floor(p);
        to.push_back({static_cast<int32_t>(low), static_cast<int32_t>(std::min(low + 1, size - 1)),
                      static_cast<float>(1 - (p - low)), static_cast<float>(p - low)});
    }

    static void weigh(Part& part) {
        if (part.there.empty()) return;
        part.first = std::min(part.there.front().low, part.there.back().low);
        const int64_t last = std::max(part.there.front().high, part.there.back().high);
        part.weights.assign(static_cast<size_t>(last - part.first + 1), 0);
        for (const Place& place : part.there) {
            part.weights[static_cast<size_t>(place.low - part.first)] += place.to_low;
            part.weights[static_cast<size_t>(place.high - part.first)] += place.to_high;
        }
        for (float& weight : part.weights) weight /= static_cast<float>(part.count);
    }
};

float mean(const float* map, int64_t width, const Part& rows, const Part& columns) {
    float sum = 0;
    for (size_t i = 0; i < rows.weights.size(); ++i) {
        const float* row = map + (rows.first + static_cast<int64_t>(i)) * width + columns.first;
        float of_row = 0;
        for (size_t j = 0; j < columns.weights.size(); ++j) of_row += columns.weights[j] * row[j];
        sum += rows.weights[i] * of_row;
    }
    return sum;
}

float largest(const float* map, int64_t width, const Part& rows, const Part& columns) {
    const double count = rows.count * columns.count;
    if (count == 0) return 0;
    const bool all = static_cast<double>(rows.there.size()) * static_cast<double>(columns.there.size()) == count;
    float most = all ? -std::numeric_limits<float>::infinity() : 0;
    for (const Place& row : rows.there)
        for (const Place& column : columns.there) {
            const float *low = map + row.low * width, *high = map + row.high * width;
            most =
                std::max({most, row.to_low * column.to_low * low[column.low], row.to_low * column.to_high * low[column.high],
                          row.to_high * column.to_low * high[column.low], row.to_high * column.to_high * high[column.high]});
        }
    return most;
}

struct Task {
    int64_t batches = 0, channels = 0, height = 0, width = 0, down = 0, across = 0;
    backplane::ops::RoiAlignAttributes how;

    void run(const float* x, const float* roi, int64_t batch, float* y) const {
        if (batch < 0 || batch >= batches) {
            std::fill_n(y, channels * down * across, 0.0F);
            return;
        }
        const float* maps = x + batch * channels * height * width;
        const Axis rows(roi[1], roi[3], down, height, how), columns(roi[0], roi[2], across, width, how);
        std::vector<Part> of_columns(static_cast<size_t>(across));
        for (int64_t j = 0; j < across; ++j) columns.find(j, of_columns[static_cast<size_t>(j)]);
        Part row;
        for (int64_t i = 0; i < down; ++i) {
            rows.find(i, row);
            for (int64_t c = 0; c < channels; ++c)
                for (int64_t j = 0; j < across; ++j) {
                    const Part& column = of_columns[static_cast<size_t>(j)];
                    y[(c * down + i) * across + j] =
                        (how.mode == RoiMode::max ? largest : mean)(maps + c * height * width, width, row, column);
                }
        }
    }
};

void lower(Lowering& to, const Node& node) {
    const ValueId x = node.inputs[0], rois = node.inputs[1], batches = node.inputs[2], y = node.output;
    if (to[y].elements() == 0) return;
    Task t;
    t.how = node.as<backplane::ops::RoiAlignAttributes>();
    t.batches = to[x].dim[0], t.channels = to[x].dim[1], t.height = to[x].dim[2], t.width = to[x].dim[3];
    t.down = to[y].dim[2], t.across = to[y].dim[3];
    const WholeNumbers of(to, batches);
    to.step(step_label(to, node), {x, rois, batches}, {y}, [=, regions = to[y].dim[0]](const Run& run) {
        run.parallel(regions, [&](uint32_t r, std::byte*) {
            t.run(run.at<float>(x), run.at<float>(rois) + int64_t{r} * 4, of.in(run)[r],
                  run.at<float>(y) + r * t.channels * t.down * t.across);
        });
    });
}

Verdict check(const Plan& plan, const Node& node) {
    const Value& x = plan[node.inputs[0]];
    if (x.elements() > INT32_MAX) return {BP_WHY_LIMIT, node.text() + " takes no maps as large as " + x.text()};
    return {};
}

// Batches are whole numbers; the rest is float32 here.
constexpr OpLowering table[] = {{BP_OP_roi_align, Types::judges, Wants::row_major, 0, check, lower}};

}  // namespace

const OpFamily ops_roi_align = {table, std::size(table)};

}  // namespace backplane::cpu::ops::roi_align
