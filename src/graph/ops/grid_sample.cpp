// GridSample: x[N, C, ...], grid[N, ..., axes] -> y[N, C, ...]. Along an axis of `size` elements the number g of the grid is the place
//   p = (g + 1) / 2 * (size - 1) with align_corners, else ((g + 1) * size - 1) / 2, of two nearest the even one
// Beside the axis there are zeros, or p is brought within: to the edge, or by reflection at the middles (align_corners) or outer edges of the first
// and last elements. linear: between the elements around p. cubic: the four around p along each axis, weighed by the cubic convolution of coefficient
// -0.75; not p but each of them is brought within, as PyTorch's grid_sample does. ONNX GridSample 20. What is not a number is taken for -1.
#include <algorithm>
#include <cmath>

#include "graph/op_definition.hpp"
#include "graph/ops/support/cubic.hpp"
#include "graph/ops/support/indexing.hpp"

namespace backplane::graph::ops::grid_sample {

namespace {

double reflected(double p, double least, double most) {
    const double range = most - least;
    if (range <= 0) return least;
    const double turns = std::fmod(std::fabs(p - least), 2 * range);
    return turns <= range ? least + turns : most - (turns - range);
}

bool is_cubic(const AttributeView& attributes) { return attributes.integer(Attr::mode) == BP_SAMPLE_CUBIC; }

double place(double g, int64_t elements, const AttributeView& attributes) {
    const auto size = static_cast<double>(elements);
    const bool corners = attributes.integer(Attr::align_corners) != 0;
    if (std::isnan(g)) g = -1;
    double p = corners ? (g + 1) / 2 * (size - 1) : ((g + 1) * size - 1) / 2;
    if (attributes.integer(Attr::mode) == BP_SAMPLE_NEAREST) p = std::nearbyint(p);
    const int64_t padding = attributes.integer(Attr::padding_mode);
    if (padding == BP_SAMPLE_ZEROS || (is_cubic(attributes) && padding == BP_SAMPLE_BORDER))
        return std::clamp(p, -2.0, size + 1);
    if (padding == BP_SAMPLE_REFLECTION && std::isfinite(p))
        p = corners ? reflected(p, 0, size - 1) : reflected(p, -0.5, size - 0.5);
    return std::clamp(p, 0.0, size - 1);
}

// Where an element of the cubic mode lies that may be beside the axis; outside: nowhere.
int64_t element(int64_t i, int64_t elements, const AttributeView& attributes) {
    const auto size = static_cast<double>(elements);
    switch (attributes.integer(Attr::padding_mode)) {
        case BP_SAMPLE_BORDER: return std::clamp<int64_t>(i, 0, elements - 1);
        case BP_SAMPLE_REFLECTION:
            return static_cast<int64_t>(attributes.integer(Attr::align_corners) != 0
                                            ? reflected(static_cast<double>(i), 0, size - 1)
                                            : reflected(static_cast<double>(i), -0.5, size - 0.5));
        default: return i;
    }
}

struct Sampling {
    const Shape& x;
    const AttributeView& attributes;

    // The sum over the elements around a place, of one map. `axis` is the first that is not chosen yet, `at` what those before it chose.
    double sum(const double* map, const std::vector<double>& places, size_t axis, int64_t at) const {
        if (axis == places.size()) return map[at];
        const int64_t extent = x[2 + axis], reach = is_cubic(attributes) ? 2 : 1;
        const auto low = static_cast<int64_t>(std::floor(places[axis]));
        double total = 0;
        for (int64_t k = low + 1 - reach; k <= low + reach; ++k) {
            const double away = std::fabs(places[axis] - static_cast<double>(k));
            const double weight = reach == 2 ? cubic_weight(away, -0.75) : 1 - away;
            const int64_t i = weight == 0 ? -1 : element(k, extent, attributes);
            if (i >= 0 && i < extent) total += weight * sum(map, places, axis + 1, at * extent + i);
        }
        return total;
    }
};

void reference(const ReferenceCall& call) {
    const ReferenceTensor& x = call.input(0);
    const std::vector<double>& grid = call.input(1).data;
    const size_t axes = x.shape.size() - 2;
    const int64_t map = elements({x.shape.begin() + 2, x.shape.end()});
    const int64_t pixels = elements({call.output.shape.begin() + 2, call.output.shape.end()});
    const Sampling sampling{x.shape, call.attributes};
    std::vector<double> places(axes);
    for (int64_t n = 0; n < x.shape[0]; ++n)
        for (int64_t pixel = 0; pixel < pixels; ++pixel) {
            for (size_t a = 0; a < axes; ++a)
                places[a] = place(grid[static_cast<size_t>(n * pixels + pixel) * axes + axes - 1 - a], x.shape[2 + a],
                                  call.attributes);
            for (int64_t c = 0; c < x.shape[1]; ++c) {
                const int64_t of = n * x.shape[1] + c;
                call.output.data[static_cast<size_t>(of * pixels + pixel)] =
                    sampling.sum(x.data.data() + of * map, places, 0, 0);
            }
        }
}

}  // namespace

constinit const OpDefinition op_grid_sample{backplane::ops::op_grid_sample, reference};

}  // namespace backplane::graph::ops::grid_sample
