#include "kernels/reduce.h"

#include "kernels/functions.h"

namespace {

constexpr int64_t kUnroll = 4;
constexpr int64_t kStripe = kUnroll * kLanes;
// Additions into one float before its sum moves on to a double.
constexpr int64_t kBlockDepth = 32;

struct Sum {
    static constexpr bool kAdds = true;
    static HWY_INLINE VF start(VF) { return hn::Zero(f); }
    static HWY_INLINE VF step(VF sum, VF x) { return hn::Add(sum, x); }
    static HWY_INLINE double join(double a, double b) { return a + b; }
};
struct Squares {
    static constexpr bool kAdds = true;
    VF mean;
    static HWY_INLINE VF start(VF) { return hn::Zero(f); }
    HWY_INLINE VF step(VF sum, VF x) const {
        const VF d = hn::Sub(x, mean);
        return hn::MulAdd(d, d, sum);
    }
    static HWY_INLINE double join(double a, double b) { return a + b; }
};
struct Product {
    static constexpr bool kAdds = false;
    static HWY_INLINE VF start(VF) { return hn::Set(f, 1.0f); }
    static HWY_INLINE VF step(VF product, VF x) { return hn::Mul(product, x); }
    static HWY_INLINE double join(double a, double b) { return a * b; }
};
struct Sizes {
    static constexpr bool kAdds = true;
    static HWY_INLINE VF start(VF) { return hn::Zero(f); }
    static HWY_INLINE VF step(VF sum, VF x) { return hn::Add(sum, hn::Abs(x)); }
    static HWY_INLINE double join(double a, double b) { return a + b; }
};
struct PlainSquares {
    static constexpr bool kAdds = true;
    static HWY_INLINE VF start(VF) { return hn::Zero(f); }
    static HWY_INLINE VF step(VF sum, VF x) { return hn::MulAdd(x, x, sum); }
    static HWY_INLINE double join(double a, double b) { return a + b; }
};
struct Most {
    static constexpr bool kAdds = false;
    static HWY_INLINE VF start(VF x) { return x; }
    static HWY_INLINE VF step(VF best, VF x) { return f_max(best, x); }
    static HWY_INLINE double join(double a, double b) { return a > b || a != a ? a : b; }
};
struct Least {
    static constexpr bool kAdds = false;
    static HWY_INLINE VF start(VF x) { return x; }
    static HWY_INLINE VF step(VF best, VF x) { return f_min(best, x); }
    static HWY_INLINE double join(double a, double b) { return a < b || a != a ? a : b; }
};

template <typename Op>
HWY_INLINE double lanes_of(VF v, int64_t n) {
    float lane[kLanes];
    hn::StoreU(v, f, lane);
    double result = static_cast<double>(lane[0]);
    for (int64_t i = 1; i < n; ++i) result = Op::join(result, static_cast<double>(lane[i]));
    return result;
}

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
HWY_INLINE hn::Vec<hn::Repartition<double, F>> halves_added(VF v) {
    const hn::Repartition<double, F> wide;
    const hn::Half<F> half;
    return hn::Add(hn::PromoteTo(wide, hn::LowerHalf(half, v)), hn::PromoteTo(wide, hn::UpperHalf(half, v)));
}
#endif
// Of all lanes of four vectors: as many additions as a row of some hundreds takes, were they one after the other.
template <typename Op>
HWY_INLINE double lanes_of_four(VF a, VF b, VF c, VF d) {
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
    if constexpr (Op::kAdds) {
        const hn::Repartition<double, F> wide;
        return hn::GetLane(hn::SumOfLanes(
            wide, hn::Add(hn::Add(halves_added(a), halves_added(b)), hn::Add(halves_added(c), halves_added(d)))));
    }
#endif
    return Op::join(Op::join(lanes_of<Op>(a, kLanes), lanes_of<Op>(b, kLanes)),
                    Op::join(lanes_of<Op>(c, kLanes), lanes_of<Op>(d, kLanes)));
}

template <typename Op>
double row_of(const float* x, int64_t n, const Op& op) {
    double result = 0;
    bool any = false;
    auto add = [&](double v) {
        result = any ? Op::join(result, v) : v;
        any = true;
    };
    int64_t i = 0;
    while (i + kStripe <= n) {
        VF s0 = Op::start(hn::LoadU(f, x + i));
        VF s1 = Op::start(hn::LoadU(f, x + i + kLanes));
        VF s2 = Op::start(hn::LoadU(f, x + i + 2 * kLanes));
        VF s3 = Op::start(hn::LoadU(f, x + i + 3 * kLanes));
        const int64_t left = (n - i) / kStripe;
        const int64_t end = i + (left < kBlockDepth ? left : kBlockDepth) * kStripe;
        for (; i < end; i += kStripe) {
            s0 = op.step(s0, hn::LoadU(f, x + i));
            s1 = op.step(s1, hn::LoadU(f, x + i + kLanes));
            s2 = op.step(s2, hn::LoadU(f, x + i + 2 * kLanes));
            s3 = op.step(s3, hn::LoadU(f, x + i + 3 * kLanes));
        }
        add(lanes_of_four<Op>(s0, s1, s2, s3));
    }
    for (; i < n; i += kLanes) {
        const VF v = load_first(x + i, n - i);
        add(lanes_of<Op>(op.step(Op::start(v), v), n - i < kLanes ? n - i : kLanes));
    }
    return result;
}

template <typename Op>
double row(const float* x, int64_t n) {
    return row_of(x, n, Op());
}

double row_squares(const float* x, int64_t n, float mean) { return row_of(x, n, Squares{hn::Set(f, mean)}); }

// One stripe of columns; `op_of(column)` is made once for each vector of it.
template <typename Op, typename OpOf>
HWY_INLINE void columns_of(const float* x, int64_t stride, int64_t rows, int64_t columns, double* into, OpOf op_of) {
    for (int64_t c = 0; c < columns; c += kLanes) {
        const int64_t n = columns - c < kLanes ? columns - c : kLanes;
        const Op op = op_of(c);
        for (int64_t r = 0; r < rows;) {
            const int64_t end = rows - r < kBlockDepth ? rows : r + kBlockDepth;
            VF sum = Op::start(load_first(x + r * stride + c, n));
            for (; r < end; ++r) sum = op.step(sum, load_first(x + r * stride + c, n));
            float lane[kLanes];
            hn::StoreU(sum, f, lane);
            for (int64_t i = 0; i < n; ++i) into[c + i] = Op::join(into[c + i], static_cast<double>(lane[i]));
        }
    }
}

// Rows in blocks, so that the vectors of a cache line are read while it is near.
template <typename Op, typename OpOf>
HWY_INLINE void columns_by_block(const float* x, int64_t stride, int64_t rows, int64_t columns, double* into, OpOf op_of) {
    for (int64_t r = 0; r < rows; r += kBlockDepth)
        columns_of<Op>(x + r * stride, stride, rows - r < kBlockDepth ? rows - r : kBlockDepth, columns, into, op_of);
}

template <typename Op>
void columns(const float* x, int64_t stride, int64_t rows, int64_t columns, double* into) {
    columns_by_block<Op>(x, stride, rows, columns, into, [](int64_t) HWY_ATTR { return Op(); });
}

void column_squares(const float* x, int64_t stride, int64_t rows, int64_t columns, const float* mean, double* into) {
    columns_by_block<Squares>(x, stride, rows, columns, into,
                              [=](int64_t c) HWY_ATTR { return Squares{load_first(mean + c, columns - c)}; });
}

}  // namespace

BP_CPU_ENTRY(reduce, ReduceKernels) {
    table->row[backplane::cpu::kReduceSum] = row<Sum>;
    table->row[backplane::cpu::kReduceMost] = row<Most>;
    table->row[backplane::cpu::kReduceLeast] = row<Least>;
    table->row[backplane::cpu::kReduceProduct] = row<Product>;
    table->row[backplane::cpu::kReduceSizes] = row<Sizes>;
    table->row[backplane::cpu::kReduceSquares] = row<PlainSquares>;
    table->row_squares = row_squares;
    table->columns[backplane::cpu::kReduceSum] = columns<Sum>;
    table->columns[backplane::cpu::kReduceMost] = columns<Most>;
    table->columns[backplane::cpu::kReduceLeast] = columns<Least>;
    table->columns[backplane::cpu::kReduceProduct] = columns<Product>;
    table->columns[backplane::cpu::kReduceSizes] = columns<Sizes>;
    table->columns[backplane::cpu::kReduceSquares] = columns<PlainSquares>;
    table->column_squares = column_squares;
}
