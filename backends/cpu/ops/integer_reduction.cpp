#include "ops/integer_reduction.hpp"

#include <algorithm>
#include <limits>

#include "common/reduction.hpp"
#include "loop_nest.hpp"

namespace backplane::cpu {

namespace {

struct Task {
    LoopNest<1> kept, reduced;  // the last loop of both has one element: rows are elements
    uint32_t op = 0;
    int64_t count = 0;
};

template <typename T>
T reduce_one(const Task& t, const T* x) {
    // Modulo 2^64, which holds every sum of i32, is right modulo 2^32, and wraps as i64 does.
    uint64_t sum = t.op == BP_OP_reduce_prod ? 1 : 0;
    T most = std::numeric_limits<T>::min();
    T least = std::numeric_limits<T>::max();
    const int64_t rows = t.reduced.rows();
    for (int64_t r = 0; r < rows; ++r) {
        const T v = x[t.reduced.row(r)[0]];
        const auto wide = static_cast<uint64_t>(static_cast<int64_t>(v));
        switch (t.op) {
            case BP_OP_reduce_prod: sum *= wide; break;
            case BP_OP_reduce_l1: sum += v < 0 ? 0 - wide : wide; break;
            case BP_OP_reduce_sum_square: sum += wide * wide; break;
            default: sum += wide;
        }
        most = std::max(most, v);
        least = std::min(least, v);
    }
    if (t.op == BP_OP_reduce_max) return most;
    if (t.op == BP_OP_reduce_min) return least;
    if (t.op == BP_OP_reduce_mean) return static_cast<T>(static_cast<int64_t>(sum) / std::max<int64_t>(1, t.count));
    return static_cast<T>(sum);
}

template <typename T>
void add_step(Lowering& to, const std::string& label, ValueId in, ValueId out, const Task& t) {
    to.step(label, {in}, {out}, [=](const Run& run) {
        const T* x = run.at<T>(in);
        T* y = run.at<T>(out);
        run.ranges(t.kept.rows(), std::max<int64_t>(1, 4096 / std::max<int64_t>(1, t.count)),
                   [&](int64_t begin, int64_t end) {
                       for (int64_t o = begin; o < end; ++o) y[o] = reduce_one(t, x + t.kept.row(o)[0]);
                   });
    });
}

}  // namespace

void add_integer_reduction(Lowering& to, const std::string& label, const Node& node, int64_t count) {
    const ValueId in = node.inputs[0], out = node.output;
    const auto [kept, gone] = backend::split_axes(node, to[in].dim, strides_of(to[in]));
    // Sorted by stride, the kept axes stand in the order of the result.
    Task t{simplify<1>(kept.size, {kept.stride}), simplify<1>(gone.size, {gone.stride}), node.op, count};
    for (LoopNest<1>* nest : {&t.kept, &t.reduced}) {
        nest->size.push_back(1);
        nest->stride[0].push_back(1);
    }
    if (to[out].dtype == BP_I64) {
        add_step<int64_t>(to, label, in, out, t);
    } else {
        add_step<int32_t>(to, label, in, out, t);
    }
}

}  // namespace backplane::cpu
