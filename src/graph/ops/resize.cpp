// Resize: x[N, C, ...] -> y[N, C, sizes ...], one spatial axis after the other. Position p' of y lies at p of x, with scale = size / size':
//   asymmetric p = p' * scale;  half_pixel p = (p' + 0.5) * scale - 0.5;  align_corners p = p' * (size - 1) / (size' - 1),
//   0 when size' = 1
// nearest: floor(p) for asymmetric, else floor(p + 0.5), clamped to the axis. linear: between the two elements around p, p
// clamped.
// ONNX Resize 13 (nearest_mode floor, and round_prefer_ceil; antialias off; exclude_outside off).
// Types: nearest any but the block types, linear f32, f16, bf16, f64.
// Attributes: sizes of the one to three spatial axes, mode (BP_RESIZE_NEAREST), coordinates (BP_COORDINATES_ASYMMETRIC).
#include <algorithm>
#include <cmath>

#include "graph/op_definition.hpp"
#include "graph/ops/support/indexing.hpp"

namespace backplane::graph::ops::resize {

namespace {

// One result position of an axis: (1 - weight) * x[low] + weight * x[high].
struct Tap {
    int64_t low = 0, high = 0;
    double weight = 0;
};

// Whole-number arithmetic for the nearest: p' * scale in floating point can fall just below the integer it means.
int64_t nearest(int64_t i, int64_t size, int64_t wanted, int64_t coordinates) {
    if (coordinates == BP_COORDINATES_ASYMMETRIC) return i * size / wanted;
    if (coordinates == BP_COORDINATES_HALF_PIXEL) return (2 * i + 1) * size / (2 * wanted);
    return wanted > 1 ? (2 * i * (size - 1) + wanted - 1) / (2 * (wanted - 1)) : 0;
}

double position(int64_t i, int64_t size, int64_t wanted, int64_t coordinates) {
    const auto p = static_cast<double>(i);
    const double scale = static_cast<double>(size) / static_cast<double>(wanted);
    if (coordinates == BP_COORDINATES_ASYMMETRIC) return p * scale;
    if (coordinates == BP_COORDINATES_HALF_PIXEL) return (p + 0.5) * scale - 0.5;
    return wanted > 1 ? p * static_cast<double>(size - 1) / static_cast<double>(wanted - 1) : 0.0;
}

std::vector<Tap> taps(int64_t size, int64_t wanted, const AttributeView& attributes) {
    const int64_t coordinates = attributes.integer(Attr::coordinates);
    std::vector<Tap> all;
    for (int64_t i = 0; i < wanted; ++i) {
        if (attributes.integer(Attr::mode) == BP_RESIZE_NEAREST) {
            const int64_t at = std::clamp<int64_t>(nearest(i, size, wanted, coordinates), 0, size - 1);
            all.push_back({at, at, 0});
        } else {
            const double p = std::clamp(position(i, size, wanted, coordinates), 0.0, static_cast<double>(size - 1));
            const auto low = static_cast<int64_t>(std::floor(p));
            all.push_back({low, std::min(low + 1, size - 1), p - static_cast<double>(low)});
        }
    }
    return all;
}

// Nothing of an element with weight 0 comes through, not even an infinity.
double between(double low, double high, double weight) { return weight == 0 ? low : (1 - weight) * low + weight * high; }

void reference(const ReferenceCall& call) {
    Shape shape = call.input(0).shape;
    std::vector<double> from = call.input(0).data;
    for (size_t axis = shape.size(); axis-- > 2;) {
        const std::vector<Tap> all = taps(shape[axis], call.output.shape[axis], call.attributes);
        const AroundAxis before(shape, axis);
        shape[axis] = call.output.shape[axis];
        const AroundAxis after(shape, axis);
        std::vector<double> to(static_cast<size_t>(elements(shape)));
        for (int64_t outer = 0; outer < after.outer; ++outer)
            for (int64_t k = 0; k < after.extent; ++k) {
                const Tap& tap = all[static_cast<size_t>(k)];
                for (int64_t inner = 0; inner < after.inner; ++inner)
                    to[after.at(outer, k, inner)] =
                        between(from[before.at(outer, tap.low, inner)], from[before.at(outer, tap.high, inner)], tap.weight);
            }
        from = std::move(to);
    }
    call.output.data = std::move(from);
}

}  // namespace

constinit const OpDefinition op_resize{backplane::ops::op_resize, reference};

}  // namespace backplane::graph::ops::resize
