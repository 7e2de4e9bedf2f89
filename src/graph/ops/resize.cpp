// Resize: x[N, C, ...] -> y[N, C, sizes ...], one spatial axis after the other. Position p' of y lies at p of x, with scale = size / size':
//   asymmetric p = p' * scale;  half_pixel p = (p' + 0.5) * scale - 0.5;  align_corners p = p' * (size - 1) / (size' - 1),
//   0 when size' = 1
//   pytorch_half_pixel as half_pixel, 0 when size' = 1
// nearest: floor(p) for asymmetric, else floor(p + 0.5), clamped to the axis. linear: between the two elements around p, p clamped. cubic: the
// four around p, weighed by the cubic convolution of coefficient a; the edge stands for what lies beside the axis, or nothing (exclude_outside).
// ONNX Resize 13 (nearest_mode floor, and round_prefer_ceil; antialias off).
// Types: nearest any but the block types, linear and cubic f32, f16, bf16, f64.
// Attributes: sizes of the one to three spatial axes, mode (BP_RESIZE_NEAREST), coordinates (BP_COORDINATES_ASYMMETRIC), cubic_coeff_a (-0.75),
// exclude_outside (0).
#include <algorithm>
#include <cmath>

#include "graph/op_definition.hpp"
#include "graph/ops/support/cubic.hpp"
#include "graph/ops/support/indexing.hpp"

namespace backplane::graph::ops::resize {

namespace {

// One result position of an axis: elements and their weights.
struct Tap {
    int64_t at = 0;
    double weight = 1;
};
using Taps = std::vector<Tap>;

// Whole-number arithmetic for the nearest: p' * scale in floating point can fall just below the integer it means.
int64_t nearest(int64_t i, int64_t size, int64_t wanted, int64_t coordinates) {
    if (coordinates == BP_COORDINATES_ASYMMETRIC) return i * size / wanted;
    if (coordinates == BP_COORDINATES_HALF_PIXEL || (coordinates == BP_COORDINATES_PYTORCH_HALF_PIXEL && wanted > 1))
        return (2 * i + 1) * size / (2 * wanted);
    return wanted > 1 ? (2 * i * (size - 1) + wanted - 1) / (2 * (wanted - 1)) : 0;
}

double position(int64_t i, int64_t size, int64_t wanted, int64_t coordinates) {
    const auto p = static_cast<double>(i);
    const double scale = static_cast<double>(size) / static_cast<double>(wanted);
    if (coordinates == BP_COORDINATES_ASYMMETRIC) return p * scale;
    if (coordinates == BP_COORDINATES_HALF_PIXEL || (coordinates == BP_COORDINATES_PYTORCH_HALF_PIXEL && wanted > 1))
        return (p + 0.5) * scale - 0.5;
    return wanted > 1 ? p * static_cast<double>(size - 1) / static_cast<double>(wanted - 1) : 0.0;
}

Taps cubic_taps(double p, int64_t size, const AttributeView& attributes) {
    const bool exclude = attributes.integer(Attr::exclude_outside) != 0;
    const auto low = static_cast<int64_t>(std::floor(p));
    Taps taps;
    double total = 0;
    for (int64_t at = low - 1; at <= low + 2; ++at) {
        if (exclude && (at < 0 || at >= size)) continue;
        taps.push_back({std::clamp<int64_t>(at, 0, size - 1),
                        cubic_weight(p - static_cast<double>(at), attributes.number(Attr::cubic_coeff_a))});
        total += taps.back().weight;
    }
    for (Tap& tap : taps) tap.weight /= exclude ? total : 1;
    return taps;
}

Taps taps_of(int64_t i, int64_t size, int64_t wanted, const AttributeView& attributes) {
    const int64_t coordinates = attributes.integer(Attr::coordinates);
    if (attributes.integer(Attr::mode) == BP_RESIZE_NEAREST)
        return {{std::clamp<int64_t>(nearest(i, size, wanted, coordinates), 0, size - 1)}};
    const double p = position(i, size, wanted, coordinates);
    if (attributes.integer(Attr::mode) == BP_RESIZE_CUBIC) return cubic_taps(p, size, attributes);
    const double within = std::clamp(p, 0.0, static_cast<double>(size - 1));
    const auto low = static_cast<int64_t>(std::floor(within));
    const double weight = within - static_cast<double>(low);
    return {{low, 1 - weight}, {std::min(low + 1, size - 1), weight}};
}

void reference(const ReferenceCall& call) {
    Shape shape = call.input(0).shape;
    std::vector<double> from = call.input(0).data;
    for (size_t axis = shape.size(); axis-- > 2;) {
        const AroundAxis before(shape, axis);
        shape[axis] = call.output.shape[axis];
        const AroundAxis after(shape, axis);
        std::vector<double> to(static_cast<size_t>(elements(shape)));
        for (int64_t k = 0; k < after.extent; ++k)
            for (const Tap& tap : taps_of(k, before.extent, after.extent, call.attributes)) {
                if (tap.weight == 0) continue;  // nothing of such an element comes through, not even an infinity
                for (int64_t outer = 0; outer < after.outer; ++outer)
                    for (int64_t inner = 0; inner < after.inner; ++inner)
                        to[after.at(outer, k, inner)] += tap.weight * from[before.at(outer, tap.at, inner)];
            }
        from = std::move(to);
    }
    call.output.data = std::move(from);
}

}  // namespace

constinit const OpDefinition op_resize{backplane::ops::op_resize, reference};

}  // namespace backplane::graph::ops::resize
