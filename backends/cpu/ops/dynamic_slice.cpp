// DynamicSlice: lines of the innermost axis, where they begin and how far they go read at each run.
#include <array>
#include <cstring>

#include "ops/strided_copy.hpp"
#include "ops/table.hpp"
#include "ops/walk.hpp"

namespace backplane::cpu::ops::dynamic_slice {

namespace {

using PerAxis = std::array<int64_t, BP_MAX_RANK>;

struct Window {
    size_t rank = 0;
    PerAxis extent{}, size{}, step{}, stride{};  // of x, of the result, in elements of an axis, in elements
    PerAxis bound{};                             // which bounds the axis has; -1: none
};

// What a run reads: where the first element lies, and how many steps there are along each axis.
struct Place {
    int64_t first = 0;
    PerAxis there{};
};

int64_t bound_of(const WholeNumbers::Read& bounds, int64_t i, int64_t extent) {
    const int64_t given = bounds[i];
    return std::clamp<int64_t>(given < 0 ? given + extent : given, 0, extent);
}

Place place_of(const Window& w, const Run& run, const WholeNumbers& starts, const WholeNumbers& ends) {
    Place place;
    for (size_t d = 0; d < w.rank; ++d) {
        const int64_t start = w.bound[d] < 0 ? 0 : bound_of(starts.in(run), w.bound[d], w.extent[d]);
        const int64_t end = w.bound[d] < 0 || !ends.given() ? w.extent[d] : bound_of(ends.in(run), w.bound[d], w.extent[d]);
        place.there[d] = end > start ? std::min(w.size[d], (end - start - 1) / w.step[d] + 1) : 0;
        place.first += start * w.stride[d];
    }
    return place;
}

// Line i of the result: where it is in x, or -1.
int64_t line_of(const Window& w, const Place& place, int64_t i) {
    int64_t at = place.first;
    for (size_t d = w.rank - 1; d-- > 0;) {
        const int64_t k = i % w.size[d];
        i /= w.size[d];
        if (k >= place.there[d]) return -1;
        at += k * w.step[d] * w.stride[d];
    }
    return at;
}

template <typename T>
void copy_lines(const Window& w, const Place& place, const Run& run, const T* x, T* y, int64_t lines) {
    const size_t last = w.rank - 1;
    const int64_t width = w.size[last];
    run.ranges(lines, std::max<int64_t>(1, kGrainElements / width), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
            const int64_t at = line_of(w, place, i);
            const int64_t n = at < 0 ? 0 : place.there[last];
            T* into = y + i * width;
            if (w.step[last] == 1 && n != 0) std::copy_n(x + at, n, into);
            for (int64_t k = 0; w.step[last] != 1 && k < n; ++k) into[k] = x[at + k * w.step[last]];
            std::fill(into + n, into + width, T());
        }
    });
}

Window window_of(const Lowering& to, const Node& node) {
    const auto a = node.as<backplane::ops::DynamicSliceAttributes>();
    const Value& x = to[node.inputs[0]];
    Window w;
    // A scalar is a line of one.
    w.rank = std::max<size_t>(1, x.dim.size());
    w.extent[0] = w.size[0] = 1;
    w.step.fill(1);
    w.stride.fill(1);
    w.bound.fill(-1);
    const std::vector<int64_t> strides = strides_of(x);
    for (size_t d = 0; d < x.dim.size(); ++d) {
        w.extent[d] = x.dim[d];
        w.size[d] = to[node.output].dim[d];
        w.stride[d] = strides[d];
    }
    for (uint32_t i = 0; i < a.axes.size(); ++i) {
        const auto axis = static_cast<size_t>(a.axes[i]);
        w.step[axis] = a.steps[i];
        w.bound[axis] = i;
    }
    return w;
}

void lower(Lowering& to, const Node& node) {
    const ValueId in = node.inputs[0];
    const ValueId out = node.output;
    if (to[out].elements() == 0) return;
    const Window w = window_of(to, node);
    const WholeNumbers starts(to, node.inputs[1]), ends(to, node.input(2));
    const int64_t lines = to[out].elements() / w.size[w.rank - 1];
    for_size(element_bytes(to[in]), [&](auto element) {
        using T = decltype(element);
        Step& added = to.step(step_label(to, node), {in, starts.from, ends.from}, {out}, [=](const Run& run) {
            copy_lines(w, place_of(w, run, starts, ends), run, run.at<T>(in), run.at<T>(out), lines);
        });
        added.moved = to[out].bytes;
    });
}

constexpr OpLowering table[] = {{BP_OP_dynamic_slice, Types::moves, Wants::row_major, 0, nullptr, lower}};

}  // namespace

const OpFamily ops_dynamic_slice = {table, std::size(table)};

}  // namespace backplane::cpu::ops::dynamic_slice
