// RoiAlign: x[N, C, H, W], rois[R, 4], batch_indices[R] -> y[R, C, H', W'], along each axis alone, of a region from a to b (times scale):
//   half_pixel: a and b are 0.5 less; else b - a is 1 at least. Part j of n begins at a + j * (b - a) / n.
//   k = sampling_ratio, or ceil((b - a) / n), places in a part: its begin + (i + 0.5) * (b - a) / n / k
//   A place is between the elements around it; before -1, behind `size` and where it is no number it is nowhere, from -1 to 0 it is 0, from
//   size - 1 on it is size - 1.
// average: the sum of the elements between, of all k * k places, by k * k (0 for none); those of places that are nowhere are 0. max: the largest of
// the four products of element and weight of each place, as ONNX Runtime has it, and of 0 where a place is nowhere; of none 0. ONNX RoiAlign 22.
#include <algorithm>
#include <cmath>

#include "graph/op_definition.hpp"
#include "graph/ops/support/indexing.hpp"

namespace backplane::graph::ops::roi_align {

namespace {

struct Place {
    int64_t low, high;
    double to_low, to_high;
};

// Of one part along one axis.
struct Places {
    std::vector<Place> there;
    double count = 0;  // with those that are nowhere
};

class Axis {
public:
    Axis(double a, double b, int64_t parts, int64_t elements, const AttributeView& attributes)
        : size_(static_cast<double>(elements)), ratio_(static_cast<double>(attributes.integer(Attr::sampling_ratio))) {
        const double scale = attributes.number(Attr::scale);
        const bool half = attributes.integer(Attr::coordinates) == BP_COORDINATES_HALF_PIXEL;
        from_ = a * scale - (half ? 0.5 : 0);
        const double length = b * scale - (half ? 0.5 : 0) - from_;
        step_ = (half || std::isnan(length) ? length : std::max(length, 1.0)) / static_cast<double>(parts);
    }

    [[nodiscard]] Places of(int64_t part) const {
        Places places;
        if (!std::isfinite(from_) || !std::isfinite(step_)) {
            places.count = ratio_;
            return places;
        }
        places.count = ratio_ > 0 ? ratio_ : std::max(0.0, std::ceil(step_));
        const double begin = from_ + static_cast<double>(part) * step_;
        // Without a ratio a place is at most a pixel from the next and a region may be of any size: those far outside need no look.
        double first = 0, last = places.count - 1;
        if (ratio_ == 0 && places.count > 0) {
            const double pixel = step_ / places.count;
            first = std::max(first, std::floor((-1 - begin) / pixel) - 1);
            last = std::min(last, std::ceil((size_ - begin) / pixel) + 1);
        }
        // Counted from the first: where numbers are so large that one more is the same, this ends all the same.
        for (double k = 0; k <= std::min(last - first, std::max(size_ + 4, ratio_)); ++k)
            add(begin + (first + k + 0.5) * step_ / places.count, places.there);
        return places;
    }

private:
    void add(double p, std::vector<Place>& to) const {
        if (!(p >= -1 && p <= size_) || size_ == 0) return;
        p = std::clamp(p, 0.0, size_ - 1);
        const double low = std::floor(p), high = std::min(low + 1, size_ - 1);
        to.push_back({static_cast<int64_t>(low), static_cast<int64_t>(high), 1 - (p - low), p - low});
    }

    double size_, ratio_, from_ = 0, step_ = 0;
};

double between(const double* map, int64_t width, const Place& row, const Place& column, bool largest) {
    const double parts[] = {row.to_low * column.to_low * map[row.low * width + column.low],
                            row.to_low * column.to_high * map[row.low * width + column.high],
                            row.to_high * column.to_low * map[row.high * width + column.low],
                            row.to_high * column.to_high * map[row.high * width + column.high]};
    return largest ? *std::max_element(std::begin(parts), std::end(parts)) : parts[0] + parts[1] + parts[2] + parts[3];
}

double pooled(const double* map, int64_t width, const Places& rows, const Places& columns, bool largest) {
    const double count = rows.count * columns.count;
    const bool all = static_cast<double>(rows.there.size()) * static_cast<double>(columns.there.size()) == count;
    double result = largest && all && count > 0 ? -std::numeric_limits<double>::infinity() : 0;
    for (const Place& row : rows.there)
        for (const Place& column : columns.there) {
            const double value = between(map, width, row, column, largest);
            result = largest ? std::max(result, value) : result + value;
        }
    return largest || count == 0 ? result : result / count;
}

void reference(const ReferenceCall& call) {
    const ReferenceTensor& x = call.input(0);
    const std::vector<double>&rois = call.input(1).data, &batches = call.input(2).data;
    const Shape& y = call.output.shape;
    const bool largest = call.attributes.integer(Attr::mode) == BP_ROI_MAX;
    const int64_t height = x.shape[2], width = x.shape[3];
    if (elements(y) == 0) return;
    for (int64_t r = 0; r < y[0]; ++r) {
        const double batch = batches[static_cast<size_t>(r)];
        const double* roi = rois.data() + r * 4;
        const Axis down(roi[1], roi[3], y[2], height, call.attributes), across(roi[0], roi[2], y[3], width, call.attributes);
        for (int64_t i = 0; i < y[2]; ++i)
            for (int64_t j = 0; j < y[3]; ++j) {
                const Places rows = down.of(i), columns = across.of(j);
                for (int64_t c = 0; c < y[1]; ++c) {
                    const bool there = batch >= 0 && batch < static_cast<double>(x.shape[0]);
                    const int64_t map = there ? (static_cast<int64_t>(batch) * y[1] + c) * height * width : 0;
                    call.output.data[static_cast<size_t>(((r * y[1] + c) * y[2] + i) * y[3] + j)] =
                        there ? pooled(x.data.data() + map, width, rows, columns, largest) : 0;
                }
            }
    }
}

}  // namespace

constinit const OpDefinition op_roi_align{backplane::ops::op_roi_align, reference};

}  // namespace backplane::graph::ops::roi_align
