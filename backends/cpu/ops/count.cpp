// Range and CumSum.
#include <algorithm>
#include <concepts>
#include <type_traits>

#include "ops/strided_copy.hpp"
#include "ops/table.hpp"
#include "ops/walk.hpp"

namespace backplane::cpu::ops::count {

namespace {

// What T is summed in: whole numbers wrap.
template <typename T>
struct SumOf {
    using Type = std::make_unsigned_t<T>;
};
template <std::floating_point T>
struct SumOf<T> {
    using Type = double;
};
template <typename T>
using Sum = typename SumOf<T>::Type;

template <typename T>
void add_range(Lowering& to, const Node& node) {
    const ValueId start = node.inputs[0];
    const ValueId delta = node.inputs[1];
    const ValueId out = node.output;
    const int64_t n = to[out].elements();
    to.step(step_label(to, node), {start, delta}, {out}, [=](const Run& run) {
        const auto from = static_cast<Sum<T>>(*run.at<T>(start));
        const auto by = static_cast<Sum<T>>(*run.at<T>(delta));
        T* y = run.at<T>(out);
        run.ranges(n, kGrainElements, [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) y[i] = static_cast<T>(from + static_cast<Sum<T>>(i) * by);
        });
    });
}

// Lines that are summed side by side: whole cache lines.
constexpr int64_t kSideBySide = 64;

struct Lines {
    int64_t inner = 1, extent = 1;
    bool exclusive = false, reverse = false;
};

// `columns` lines from x on, which lie side by side.
template <typename T>
void sum_lines(const Lines& l, const T* x, T* y, int64_t columns) {
    Sum<T> sum[kSideBySide] = {};
    for (int64_t k = 0; k < l.extent; ++k) {
        const int64_t at = (l.reverse ? l.extent - 1 - k : k) * l.inner;
        for (int64_t c = 0; c < columns; ++c) {
            const auto after = static_cast<Sum<T>>(sum[c] + static_cast<Sum<T>>(x[at + c]));
            y[at + c] = static_cast<T>(l.exclusive ? sum[c] : after);
            sum[c] = after;
        }
    }
}

template <typename T>
void add_cum_sum(Lowering& to, const Node& node) {
    const ValueId in = node.inputs[0];
    const ValueId out = node.output;
    const auto attributes = node.as<backplane::ops::CumSumAttributes>();
    const auto axis = static_cast<size_t>(attributes.axis);
    const Lines l{strides_of(to[in])[axis], to[in].dim[axis], attributes.exclusive, attributes.reverse};
    const int64_t strips = (l.inner + kSideBySide - 1) / kSideBySide;
    const int64_t outer = to[in].elements() / (l.inner * l.extent);
    const int64_t grain = std::max<int64_t>(1, kGrainElements / (l.extent * std::min(l.inner, kSideBySide)));
    to.step(step_label(to, node), {in}, {out}, [=](const Run& run) {
        run.ranges(outer * strips, grain, [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) {
                const int64_t first = i % strips * kSideBySide;
                const int64_t at = i / strips * l.extent * l.inner + first;
                sum_lines(l, run.at<T>(in) + at, run.at<T>(out) + at, std::min(kSideBySide, l.inner - first));
            }
        });
    });
}

void lower_range(Lowering& to, const Node& node) {
    if (to[node.output].elements() == 0) return;
    for_type(to[node.output].dtype, [&](auto element) { add_range<decltype(element)>(to, node); });
}
void lower_cum_sum(Lowering& to, const Node& node) {
    if (to[node.output].elements() == 0) return;
    for_type(to[node.output].dtype, [&](auto element) { add_cum_sum<decltype(element)>(to, node); });
}

constexpr OpLowering table[] = {{BP_OP_range, Types::numbers, Wants::row_major, 0, nullptr, lower_range},
                                {BP_OP_cum_sum, Types::numbers, Wants::row_major, 0, nullptr, lower_cum_sum},
                                in_doubles(BP_OP_range, lower_range),
                                in_doubles(BP_OP_cum_sum, lower_cum_sum)};

}  // namespace

const OpFamily ops_count = {table, std::size(table)};

}  // namespace backplane::cpu::ops::count
