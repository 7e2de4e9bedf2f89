// ArgMax, ArgMin, and the positions of TopK; its values are gathered by them.
#include <algorithm>
#include <numeric>

#include "ops/strided_copy.hpp"
#include "ops/table.hpp"
#include "ops/walk.hpp"

namespace backplane::cpu::ops::order {

namespace {

struct Task {
    int64_t inner = 1, extent = 1, lines = 1, k = 1;
    bool smallest = false;  // first, else the largest; NaN before all
    bool last = false;      // of equal ones the last comes first
};

// One line of T, whose elements lie l.inner apart.
template <typename T>
struct Line {
    const Task& t;
    const T* x;

    [[nodiscard]] bool before(int64_t p, int64_t q) const {
        const T a = x[p * t.inner];
        const T b = x[q * t.inner];
        if (const bool a_is_nan = a != a, b_is_nan = b != b; a_is_nan != b_is_nan) return a_is_nan;
        if (t.smallest ? a < b : a > b) return true;
        if (t.smallest ? b < a : b > a) return false;
        return t.last ? p > q : p < q;
    }
    [[nodiscard]] int64_t first() const {
        int64_t best = 0;
        for (int64_t p = 1; p < t.extent; ++p)
            if (before(p, best)) best = p;
        return best;
    }
};

// The first k positions of the line, side by side in `room`, which has place for all.
template <typename T>
void sort_first(const Line<T>& line, int64_t* room) {
    std::iota(room, room + line.t.extent, int64_t{0});
    std::partial_sort(room, room + line.t.k, room + line.t.extent, [&](int64_t p, int64_t q) { return line.before(p, q); });
}

template <typename T>
void add(Lowering& to, const Node& node, const Task& t) {
    const ValueId in = node.inputs[0];
    const ValueId out = node.output;
    if (t.k != 1) to.lane_scratch(static_cast<uint64_t>(t.extent) * sizeof(int64_t));
    const int64_t grain = std::max<int64_t>(1, kGrainElements / t.extent);
    to.step(step_label(to, node), {in}, {out}, [=](const Run& run) {
        run.parallel((t.lines + grain - 1) / grain, [&](uint32_t chunk, std::byte* scratch) {
            auto* room = reinterpret_cast<int64_t*>(scratch);
            for (int64_t i = chunk * grain; i < std::min(t.lines, (chunk + 1) * grain); ++i) {
                const Line<T> line{t, run.at<T>(in) + i / t.inner * t.inner * t.extent + i % t.inner};
                int64_t* y = run.at<int64_t>(out) + i / t.inner * t.inner * t.k + i % t.inner;
                if (t.k == 1) {
                    *y = line.first();
                    continue;
                }
                sort_first(line, room);
                for (int64_t rank = 0; rank < t.k; ++rank) y[rank * t.inner] = room[rank];
            }
        });
    });
}

void lower_along(Lowering& to, const Node& node, size_t axis, Task t) {
    if (to[node.output].elements() == 0) return;
    const Value& x = to[node.inputs[0]];
    t.inner = strides_of(x)[axis];
    t.extent = x.dim[axis];
    t.lines = x.elements() / t.extent;
    for_type(x.dtype, [&](auto element) { add<decltype(element)>(to, node, t); });
}

void lower_arg(Lowering& to, const Node& node) {
    const auto how = node.as<backplane::ops::ArgAttributes>();
    lower_along(to, node, static_cast<size_t>(how.axis),
                {.smallest = node.op == BP_OP_arg_min, .last = how.select_last_index});
}

void lower_top(Lowering& to, const Node& node) {
    const auto how = node.as<backplane::ops::TopKAttributes>();
    lower_along(to, node, static_cast<size_t>(how.axis), {.k = how.k, .smallest = !how.largest});
}

constexpr OpLowering table[] = {{BP_OP_arg_max, Types::judges, Wants::row_major, 0, nullptr, lower_arg},
                                {BP_OP_arg_min, Types::judges, Wants::row_major, 0, nullptr, lower_arg},
                                {BP_OP_top_k, Types::judges, Wants::row_major, 0, nullptr, lower_top},
                                in_doubles(BP_OP_arg_max, lower_arg),
                                in_doubles(BP_OP_arg_min, lower_arg),
                                in_doubles(BP_OP_top_k, lower_top)};

}  // namespace

const OpFamily ops_order = {table, std::size(table)};

}  // namespace backplane::cpu::ops::order
