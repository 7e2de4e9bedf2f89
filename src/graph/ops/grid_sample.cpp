// GridSample: x[N, C, ...], grid[N, ..., axes] -> y[N, C, ...]. Along an axis of `size` elements the number g of the grid is the place
//   p = (g + 1) / 2 * (size - 1) with align_corners, else ((g + 1) * size - 1) / 2, of two nearest the even one
// Beside the axis there are zeros, or p is brought within: to the edge, or by reflection at the middles (align_corners) or outer edges of the first
// and last elements. linear: between the elements around p. ONNX GridSample 20, linear and nearest. What is not a number is taken for -1.
#include <algorithm>
#include <cmath>

#include "graph/op_definition.hpp"
#include "graph/ops/support/indexing.hpp"

namespace backplane::graph::ops::grid_sample {

namespace {

double reflected(double p, double least, double most) {
    const double range = most - least;
    if (range <= 0) return least;
    const double turns = std::fmod(std::fabs(p - least), 2 * range);
    return turns <= range ? least + turns : most - (turns - range);
}

double place(double g, int64_t elements, const AttributeView& attributes) {
    const auto size = static_cast<double>(elements);
    const bool corners = attributes.integer(Attr::align_corners) != 0;
    if (std::isnan(g)) g = -1;
    double p = corners ? (g + 1) / 2 * (size - 1) : ((g + 1) * size - 1) / 2;
    if (attributes.integer(Attr::mode) == BP_SAMPLE_NEAREST) p = std::nearbyint(p);
    const int64_t padding = attributes.integer(Attr::padding_mode);
    if (padding == BP_SAMPLE_ZEROS) return std::clamp(p, -2.0, size + 1);
    if (padding == BP_SAMPLE_REFLECTION && std::isfinite(p))
        p = corners ? reflected(p, 0, size - 1) : reflected(p, -0.5, size - 0.5);
    return std::clamp(p, 0.0, size - 1);
}

// The sum over the corners around a place, of one map. `axis` is the first that is not chosen yet, `at` what those before it chose.
double sample(const double* map, const Shape& x, const std::vector<double>& places, size_t axis, int64_t at) {
    if (axis == places.size()) return map[at];
    const double low = std::floor(places[axis]);
    const double weights[2] = {1 - (places[axis] - low), places[axis] - low};
    double sum = 0;
    for (int64_t k = 0; k < 2; ++k) {
        const int64_t i = static_cast<int64_t>(low) + k;
        if (weights[k] == 0 || i < 0 || i >= x[2 + axis]) continue;
        sum += weights[k] * sample(map, x, places, axis + 1, at * x[2 + axis] + i);
    }
    return sum;
}

void reference(const ReferenceCall& call) {
    const ReferenceTensor& x = call.input(0);
    const std::vector<double>& grid = call.input(1).data;
    const size_t axes = x.shape.size() - 2;
    const int64_t map = elements({x.shape.begin() + 2, x.shape.end()});
    const int64_t pixels = elements({call.output.shape.begin() + 2, call.output.shape.end()});
    std::vector<double> places(axes);
    for (int64_t n = 0; n < x.shape[0]; ++n)
        for (int64_t pixel = 0; pixel < pixels; ++pixel) {
            for (size_t a = 0; a < axes; ++a)
                places[a] = place(grid[static_cast<size_t>(n * pixels + pixel) * axes + axes - 1 - a], x.shape[2 + a],
                                  call.attributes);
            for (int64_t c = 0; c < x.shape[1]; ++c) {
                const int64_t of = n * x.shape[1] + c;
                call.output.data[static_cast<size_t>(of * pixels + pixel)] =
                    sample(x.data.data() + of * map, x.shape, places, 0, 0);
            }
        }
}

}  // namespace

constinit const OpDefinition op_grid_sample{backplane::ops::op_grid_sample, reference};

}  // namespace backplane::graph::ops::grid_sample
