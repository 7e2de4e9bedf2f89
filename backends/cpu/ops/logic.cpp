// Ops that judge elements, and Where.
#include <cmath>

#include "ops/strided_copy.hpp"
#include "ops/table.hpp"
#include "ops/walk.hpp"

namespace backplane::cpu::ops::logic {

namespace {

struct Equal {
    template <typename T>
    static bool of(T a, T b) {
        return a == b;
    }
};
struct Less {
    template <typename T>
    static bool of(T a, T b) {
        return a < b;
    }
};
struct LessOrEqual {
    template <typename T>
    static bool of(T a, T b) {
        return a <= b;
    }
};
struct Greater {
    template <typename T>
    static bool of(T a, T b) {
        return a > b;
    }
};
struct GreaterOrEqual {
    template <typename T>
    static bool of(T a, T b) {
        return a >= b;
    }
};
struct And {
    static bool of(uint8_t a, uint8_t b) { return (a & b) != 0; }
};
struct Or {
    static bool of(uint8_t a, uint8_t b) { return (a | b) != 0; }
};
struct Xor {
    static bool of(uint8_t a, uint8_t b) { return a != b; }
};
// Of one operand, which is given twice.
struct Not {
    static bool of(uint8_t a, uint8_t) { return a == 0; }
};
struct IsNaN {
    template <typename T>
    static bool of(T a, T) {
        return std::isnan(a);
    }
};
struct IsInfinity {
    template <typename T>
    static bool of(T a, T) {
        return std::isinf(a);
    }
};
struct IsPositiveInfinity {
    template <typename T>
    static bool of(T a, T) {
        return std::isinf(a) && a > 0;
    }
};
struct IsNegativeInfinity {
    template <typename T>
    static bool of(T a, T) {
        return std::isinf(a) && a < 0;
    }
};
struct Never {
    template <typename T>
    static bool of(T, T) {
        return false;
    }
};

// out[i] = Op::of(x[i * x_step], y[i * y_step])
using Judge = void (*)(const std::byte* x, int64_t x_step, const std::byte* y, int64_t y_step, uint8_t* out, int64_t n);

template <typename T, typename Op>
void judge(const std::byte* x, int64_t x_step, const std::byte* y, int64_t y_step, uint8_t* out, int64_t n) {
    const T* a = reinterpret_cast<const T*>(x);
    const T* b = reinterpret_cast<const T*>(y);
    // Steps of 1 on their own: compilers make vectors of them.
    if (x_step == 1 && y_step == 1) {
        for (int64_t i = 0; i < n; ++i) out[i] = Op::of(a[i], b[i]) ? 1 : 0;
    } else {
        for (int64_t i = 0; i < n; ++i) out[i] = Op::of(a[i * x_step], b[i * y_step]) ? 1 : 0;
    }
}

template <typename Op>
Judge comparison_of(uint32_t dtype) {
    switch (dtype) {
        case BP_F32: return judge<float, Op>;
        case BP_F64: return judge<double, Op>;
        case BP_I32: return judge<int32_t, Op>;
        case BP_I64: return judge<int64_t, Op>;
        case BP_BOOL: return judge<uint8_t, Op>;
        default: return nullptr;
    }
}

template <typename T>
Judge infinity_of(const backplane::ops::IsInfAttributes& counts) {
    if (counts.detect_negative) return counts.detect_positive ? judge<T, IsInfinity> : judge<T, IsNegativeInfinity>;
    return counts.detect_positive ? judge<T, IsPositiveInfinity> : judge<T, Never>;
}

// Whether a float is one of those that are no number or no finite one.
template <typename T>
Judge peculiar_of(const Node& node) {
    return node.op == BP_OP_is_nan ? judge<T, IsNaN> : infinity_of<T>(node.as<backplane::ops::IsInfAttributes>());
}

Judge judge_of(const Node& node, uint32_t dtype) {
    switch (node.op) {
        case BP_OP_equal: return comparison_of<Equal>(dtype);
        case BP_OP_less: return comparison_of<Less>(dtype);
        case BP_OP_less_or_equal: return comparison_of<LessOrEqual>(dtype);
        case BP_OP_greater: return comparison_of<Greater>(dtype);
        case BP_OP_greater_or_equal: return comparison_of<GreaterOrEqual>(dtype);
        case BP_OP_logical_and: return judge<uint8_t, And>;
        case BP_OP_logical_or: return judge<uint8_t, Or>;
        case BP_OP_logical_xor: return judge<uint8_t, Xor>;
        case BP_OP_logical_not: return judge<uint8_t, Not>;
        case BP_OP_is_nan:
        case BP_OP_is_inf: return dtype == BP_F64 ? peculiar_of<double>(node) : peculiar_of<float>(node);
        default: return nullptr;
    }
}

void lower_judgement(Lowering& to, const Node& node) {
    const ValueId x = node.inputs[0];
    const ValueId y = node.inputs.back();
    const ValueId out = node.output;
    if (to[out].elements() == 0) return;
    const Judge how = judge_of(node, to[x].dtype);
    if (how == nullptr) throw sdk::Failure(BP_INTERNAL, node.text() + ": this build has no kernel for it");
    const int64_t size = element_bytes(to[x]);
    const auto nest = nest_of(to, out, x, y);
    const int64_t x_step = nest.stride[1].back();
    const int64_t y_step = nest.stride[2].back();
    to.step(step_label(to, node), {x, y}, {out}, [=](const Run& run) {
        for_each_stretch(run, nest, [&](const auto& at, int64_t n) {
            how(run.at<std::byte>(x) + at[1] * size, x_step, run.at<std::byte>(y) + at[2] * size, y_step,
                run.at<uint8_t>(out) + at[0], n);
        });
    });
}

template <typename T>
void add_where(Lowering& to, const Node& node) {
    const ValueId condition = node.inputs[0];
    const ValueId x = node.inputs[1];
    const ValueId y = node.inputs[2];
    const ValueId out = node.output;
    const auto nest = nest_of(to, out, condition, x, y);
    const int64_t condition_step = nest.stride[1].back();
    const int64_t x_step = nest.stride[2].back();
    const int64_t y_step = nest.stride[3].back();
    Step& added = to.step(step_label(to, node), node.inputs, {out}, [=](const Run& run) {
        for_each_stretch(run, nest, [&](const auto& at, int64_t n) {
            const uint8_t* holds = run.at<uint8_t>(condition) + at[1];
            const T* a = run.at<T>(x) + at[2];
            const T* b = run.at<T>(y) + at[3];
            T* into = run.at<T>(out) + at[0];
            for (int64_t i = 0; i < n; ++i) into[i] = holds[i * condition_step] != 0 ? a[i * x_step] : b[i * y_step];
        });
    });
    added.moved = to[out].bytes;
}

void lower_where(Lowering& to, const Node& node) {
    if (to[node.output].elements() == 0) return;
    for_size(element_bytes(to[node.output]), [&](auto element) { add_where<decltype(element)>(to, node); });
}

constexpr OpLowering judges(uint32_t op) { return {op, Types::judges, Wants::row_major, 0, nullptr, lower_judgement}; }

constexpr OpLowering table[] = {
    judges(BP_OP_equal),
    judges(BP_OP_less),
    judges(BP_OP_less_or_equal),
    judges(BP_OP_greater),
    judges(BP_OP_greater_or_equal),
    judges(BP_OP_logical_and),
    judges(BP_OP_logical_or),
    judges(BP_OP_logical_xor),
    judges(BP_OP_logical_not),
    judges(BP_OP_is_nan),
    judges(BP_OP_is_inf),
    in_doubles(BP_OP_equal, lower_judgement),
    in_doubles(BP_OP_less, lower_judgement),
    in_doubles(BP_OP_less_or_equal, lower_judgement),
    in_doubles(BP_OP_greater, lower_judgement),
    in_doubles(BP_OP_greater_or_equal, lower_judgement),
    in_doubles(BP_OP_is_nan, lower_judgement),
    in_doubles(BP_OP_is_inf, lower_judgement),
    {BP_OP_where, Types::moves, Wants::row_major, 0, nullptr, lower_where},
};

}  // namespace

const OpFamily ops_logic = {table, std::size(table)};

}  // namespace backplane::cpu::ops::logic
