// Unsigned whole numbers of 32 and 64 bits. Graphs have no such types: i32 and i64 hold their bits. Moves, sums, differences and products are the same
// on these; the rest is put together from ops of i64 so that every bit is right on whatever computes i64 exactly. On the float64 reference, which rounds
// whole numbers beyond 2^53, what is below that is: nothing small becomes large on the way.
#include <algorithm>
#include <cmath>
#include <string>

#include "formats/onnx/call.hpp"

namespace backplane::formats {
namespace {

constexpr double kTwo32 = 0x1p32, kTwo63 = 0x1p63;

// Operators that do the same to bits as to numbers: which of their operands and results are of the unsigned type, bit by bit.
struct BitsRow {
    std::string_view op;
    uint32_t operands, results;
};
constexpr uint32_t kAll = UINT32_MAX;
constexpr BitsRow kOfBits[] = {
    {"Identity", 1, 1},
    {"Reshape", 1, 1},
    {"Flatten", 1, 1},
    {"Squeeze", 1, 1},
    {"Unsqueeze", 1, 1},
    {"Expand", 1, 1},
    {"Tile", 1, 1},
    {"Slice", 1, 1},
    {"Split", 1, kAll},
    {"Pad", 1, 1},
    {"Concat", kAll, 1},
    {"Transpose", 1, 1},
    {"Trilu", 1, 1},
    {"DepthToSpace", 1, 1},
    {"SpaceToDepth", 1, 1},
    {"Compress", 1, 1},
    {"ReverseSequence", 1, 1},
    {"Gather", 1, 1},
    {"GatherElements", 1, 1},
    {"GatherND", 1, 1},
    {"OneHot", 0b100, 1},
    {"Scatter", 0b101, 1},
    {"ScatterElements", 0b101, 1},
    {"ScatterND", 0b101, 1},
    {"Where", 0b110, 1},
    {"ConstantOfShape", 0, 1},
    {"Shape", 1, 0},
    {"Size", 1, 0},
    {"NonZero", 1, 0},
    {"Equal", kAll, 0},
    {"Add", kAll, 1},
    {"Sub", kAll, 1},
    {"Mul", kAll, 1},
    {"Sum", kAll, 1},
    {"CumSum", 1, 1},
    {"ReduceSum", 1, 1},
    {"ReduceProd", 1, 1},
    {"ReduceSumSquare", 1, 1},
};

// Tensors of i32 or i64 as the unsigned numbers whose bits they hold.
struct UnsignedBits {
    OnnxCall& call;
    DType held;

    [[nodiscard]] TensorId number(double value) const { return call.scalar(value, held); }
    [[nodiscard]] TensorId of(Op op, TensorId a, TensorId b) const { return call.add(op, {a, b}); }
    [[nodiscard]] TensorId choose(TensorId condition, TensorId a, TensorId b) const {
        return call.add(Op::where, {condition, a, b});
    }
    // From 2^31 or 2^63 on.
    [[nodiscard]] TensorId is_large(TensorId x) const { return of(Op::less, x, number(0)); }
    [[nodiscard]] TensorId less(TensorId a, TensorId b) const {
        return of(Op::logical_xor, of(Op::less, a, b), of(Op::logical_xor, is_large(a), is_large(b)));
    }
    [[nodiscard]] TensorId larger(TensorId a, TensorId b) const { return choose(less(a, b), b, a); }
    [[nodiscard]] TensorId smaller(TensorId a, TensorId b) const { return choose(less(a, b), a, b); }
};

struct UnsignedWords {  // of i64
    OnnxCall& call;
    UnsignedBits bits{call, DType::i64};

    [[nodiscard]] TensorId number(double value) const { return bits.number(value); }
    [[nodiscard]] TensorId of(Op op, TensorId a, TensorId b) const { return bits.of(op, a, b); }

    // The numbers of an operand: those of uint32 as they are, those of uint64 as their bits, which is the same modulo 2^64.
    [[nodiscard]] TensorId in(size_t i) const {
        const TensorId wide = call.as(call.in(i), DType::i64);
        return call.is_unsigned(i) && call.dtype(i) == DType::i32 ? of(Op::mod, wide, number(kTwo32)) : wide;
    }
    // Half of each, without the sign that the top bit is not.
    [[nodiscard]] TensorId half(TensorId x) const {
        const TensorId even = of(Op::sub, x, of(Op::mod, x, number(2)));
        return of(Op::add, of(Op::div, even, number(2)), bits.choose(bits.is_large(x), number(-kTwo63), number(0)));
    }
    [[nodiscard]] TensorId power_of_two(TensorId exponent) const { return of(Op::pow, number(2), exponent); }
    [[nodiscard]] TensorId clipped(TensorId x, double least, double most) const {
        return call.add(Op::clip, {x}, {{Attr::least, least}, {Attr::most, most}});
    }
    // At most `most`, which is small.
    [[nodiscard]] TensorId at_most(TensorId x, double most) const {
        return bits.choose(bits.is_large(x), number(most), clipped(x, 0, most));
    }
    // x / y, 0 where y is 0: by halves, of which twice the quotient is right or one too small.
    [[nodiscard]] TensorId quotient(TensorId x, TensorId y) const {
        const auto one_if = [&](TensorId condition) { return call.as(condition, DType::i64); };
        const auto none_less = [&](TensorId a) { return call.add(Op::logical_not, {bits.less(a, y)}); };
        const TensorId twice = of(Op::mul, of(Op::div, half(x), y), number(2));
        const TensorId rest = of(Op::sub, x, of(Op::mul, twice, y));
        const TensorId by_small = of(Op::add, twice, one_if(none_less(rest)));
        const TensorId any = bits.choose(bits.is_large(y), one_if(none_less(x)), by_small);
        return bits.choose(of(Op::equal, y, number(0)), number(0), any);
    }
    // What is large, by half of it, with what that drops folded into the last digit: it is rounded once.
    [[nodiscard]] TensorId as_float(TensorId x, bool may_be_large, DType dtype) const {
        const TensorId plain = call.as(x, dtype);
        if (!may_be_large) return plain;
        const TensorId halved = half(x);
        const TensorId odd_once =
            of(Op::mul, of(Op::mod, x, number(2)), of(Op::sub, number(1), of(Op::mod, halved, number(2))));
        const TensorId single = call.as(of(Op::add, halved, odd_once), dtype);
        return bits.choose(bits.is_large(x), call.add(Op::mul, {single, call.scalar(2, dtype)}), plain);
    }
    // Of floats, cut, those outside of the range as its ends, NaN as 0.
    [[nodiscard]] TensorId from_float(TensorId x, DType dtype) const {
        if (dtype == DType::i32) return call.as(clipped(call.as(x, DType::i64), 0, kTwo32 - 1), dtype);
        const TensorId wide = call.graph[x].dtype == DType::f64 ? x : call.as(x, DType::f32);
        const TensorId two63 = call.scalar(kTwo63, call.graph[wide].dtype);
        const TensorId above = call.as(of(Op::sub, wide, two63), DType::i64);
        return bits.choose(of(Op::greater_or_equal, wide, two63), of(Op::add, above, number(-kTwo63)),
                           clipped(call.as(wide, DType::i64), 0, kTwo63));
    }
};

bool is_unsigned_64(OnnxCall& call, size_t i) { return call.is_unsigned(i) && call.dtype(i) == DType::i64; }

// Of whole numbers to whole numbers what the bits are in the other type, as ONNX has it.
void unsigned_cast(OnnxCall& call) {
    const UnsignedWords words{call};
    for (const char* of_small_floats : {"saturate", "round_mode"}) static_cast<void>(call.attribute(of_small_floats));
    const bool like = call.node.op == "CastLike";
    const OnnxHeld to = like ? OnnxHeld{call.dtype(1), call.is_unsigned(1)} : held_as_onnx(call.integer("to", 0));
    if (to.dtype == DType::unknown) call.refuse("to a type that graphs do not have");
    const TensorId x = call.in(0);
    TensorId made;
    if (to.dtype == DType::boolean)
        made = call.as(x, to.dtype);
    else if (is_float(to.dtype))
        made = words.as_float(words.in(0), is_unsigned_64(call, 0), to.dtype);
    else if (is_float(call.dtype(0)))
        made = words.from_float(x, to.dtype);
    else
        made = call.as(words.in(0), to.dtype);
    call.result(made);
    call.result_is_unsigned(0, to.is_unsigned);
}

// Max and Min of any number of operands, the bounds of Clip, comparisons.
void unsigned_ordered(OnnxCall& call) {
    const UnsignedBits bits{call, call.dtype(0)};
    const std::string& op = call.node.op;
    TensorId y = call.reshaped(call.in(0), call.shape(0));
    for (size_t i = 1; i < call.inputs(); ++i) {
        if (!call.given(i)) continue;
        const bool largest = op == "Max" || (op == "Clip" && i == 1);
        y = largest ? bits.larger(y, call.in(i)) : bits.smaller(y, call.in(i));
    }
    call.result(y);
    call.result_is_unsigned(0, true);
}

void unsigned_compared(OnnxCall& call) {
    const UnsignedBits bits{call, call.dtype(0)};
    const std::string& op = call.node.op;
    const bool turned = op == "Greater" || op == "LessOrEqual", negated = op == "LessOrEqual" || op == "GreaterOrEqual";
    const TensorId less = turned ? bits.less(call.in(1), call.in(0)) : bits.less(call.in(0), call.in(1));
    call.result(negated ? call.add(Op::logical_not, {less}) : less);
}

void unsigned_divided(OnnxCall& call) {
    const UnsignedWords words{call};
    static_cast<void>(call.attribute("fmod"));  // without signs there is one remainder
    const TensorId x = words.in(0), y = words.in(1);
    const bool remainder = call.node.op == "Mod";
    TensorId made;
    if (!is_unsigned_64(call, 0)) {
        made = words.of(remainder ? Op::mod : Op::div, x, y);
    } else {
        made = words.quotient(x, y);
        const TensorId none = words.of(Op::equal, y, words.number(0));
        if (remainder) made = words.bits.choose(none, y, words.of(Op::sub, x, words.of(Op::mul, made, y)));
    }
    call.result(call.as(made, call.dtype(0)));
    call.result_is_unsigned(0, true);
}

// Of a base that has a sign. Powers repeat from 2^62 on, so that exponents beyond the range of i64 are others within it.
void unsigned_pow(OnnxCall& call) {
    const UnsignedWords words{call};
    const DType dtype = call.dtype(0);
    if (call.is_unsigned(0)) call.refuse("of an unsigned base");
    TensorId exponent = words.in(1);
    if (is_float(dtype))
        return call.result(call.add(Op::pow, {call.in(0), words.as_float(exponent, is_unsigned_64(call, 1), dtype)}));
    if (is_unsigned_64(call, 1)) {
        const TensorId again = words.of(Op::add, words.of(Op::mod, exponent, words.number(0x1p62)), words.number(0x1p62));
        exponent = words.bits.choose(words.bits.is_large(exponent), again, exponent);
    }
    call.result(call.as(words.of(Op::pow, words.in(0), exponent), dtype));
}

// As products with powers of two, and quotients by them; bits that leave the type are lost, all of them from its length on.
void unsigned_shift(OnnxCall& call) {
    const UnsignedWords words{call};
    const DType dtype = call.dtype(0);
    const double length = 8 * static_cast<double>(bytes(dtype, {}));
    const bool left = call.text("direction", "") == "LEFT";
    const TensorId x = words.in(0), by = words.at_most(words.in(1), length);
    TensorId made;
    if (left) {
        made = words.of(Op::mul, x, words.power_of_two(by));
    } else if (dtype == DType::i32) {
        made = words.of(Op::div, x, words.power_of_two(by));
    } else {  // the first by half(), which leaves no sign to the rest
        const TensorId rest = words.clipped(words.of(Op::sub, by, words.number(1)), 0, length - 1);
        const TensorId shifted = words.of(Op::div, words.half(x), words.power_of_two(rest));
        made = words.bits.choose(words.of(Op::equal, by, words.number(0)), x, shifted);
    }
    call.result(call.as(made, dtype));
    call.result_is_unsigned(0, true);
}

// The largest or smallest of uint64 by `reduced`, which finds that of i64: among numbers on one side of 2^63 it is the same one.
template <typename Reduced>
TensorId extreme_word(OnnxCall& call, bool largest, const Reduced& reduced) {
    const UnsignedWords words{call};
    const TensorId x = call.in(0), large = words.bits.is_large(x), last = words.number(largest ? -kTwo63 : kTwo63);
    const TensorId one_side = reduced(largest ? words.bits.choose(large, x, last) : words.bits.choose(large, last, x));
    const TensorId all_sides = reduced(x);
    // Of the largest: any is large; of the smallest: all are.
    const TensorId is_large = call.as(reduced(call.as(large, DType::i64)), DType::boolean);
    return words.bits.choose(is_large, largest ? one_side : all_sides, largest ? all_sides : one_side);
}

// ArgMax, ArgMin: where the first or last of those is that are equal to the largest or smallest.
void extreme_position(OnnxCall& call, bool largest) {
    const int64_t axis = call.axis(call.integer("axis", 0), call.rank(0)), keep = call.integer("keepdims", 1);
    const TensorId best = extreme_word(call, largest, [&](TensorId x) {
        return call.add(largest ? Op::reduce_max : Op::reduce_min, {x},
                        {{Attr::axes, std::vector<int64_t>{axis}}, {Attr::keepdims, 1}});
    });
    const TensorId is_best = call.as(call.add(Op::equal, {call.in(0), best}), DType::i32);
    call.result(call.add(
        Op::arg_max, {is_best},
        {{Attr::axis, axis}, {Attr::keepdims, keep}, {Attr::select_last_index, call.integer("select_last_index", 0)}}));
}

// The k largest or smallest of uint64: in the order of i64, in which those from 2^63 on come after all others; then these as one, which leaves equal ones
// where they are. Nothing is added, so that the float64 reference has what it can.
void most_words(OnnxCall& call) {
    const UnsignedWords words{call};
    const int64_t along = call.axis(call.integer("axis", -1), call.rank(0)), largest = call.integer("largest", 1);
    static_cast<void>(call.integer("sorted", 1));  // they always are
    const auto first = [&](TensorId x, int64_t k) {
        return call.graph.add_all(Op::top_k, std::span(&x, 1),
                                  {{Attr::k, k}, {Attr::axis, along}, {Attr::largest, largest}});
    };
    const auto picked = [&](TensorId x, TensorId places) {
        return call.add(Op::gather_elements, {x, places}, {{Attr::axis, along}});
    };
    const std::vector<TensorId> all = first(call.in(0), call.shape(0)[at(along)]);
    const TensorId large = call.as(words.bits.is_large(all.at(0)), DType::i32);
    const TensorId places = first(large, call.one_integer(1)).at(1);
    call.result(picked(all.at(0), places), 0);
    call.result(picked(all.at(1), places), 1);
}

constexpr std::string_view kRanking[] = {"ReduceMax", "ReduceMin", "ArgMax", "ArgMin", "TopK"};
bool is_small(DType dtype) {
    return dtype == DType::boolean || (!is_float(dtype) && dtype != DType::i32 && dtype != DType::i64);
}

// What ranks numbers: those of uint32 as i64, which has them all, smaller ones as i32.
void ranked(OnnxRule rule, OnnxCall& call) {
    const std::string& op = call.node.op;
    const DType dtype = call.dtype(0);
    const bool is_unsigned = call.is_unsigned(0), positions = op == "ArgMax" || op == "ArgMin";
    const bool largest = op == "ArgMax" || op == "ReduceMax";
    if (!is_unsigned_64(call, 0)) {
        const TensorId x = is_unsigned ? UnsignedWords{call}.in(0) : call.as(call.in(0), DType::i32);
        const TensorId made = call.result_of(rule, x);
        if (positions || !made.valid()) return;
        call.result(call.as(made, dtype));
    } else if (positions) {
        return extreme_position(call, largest);
    } else if (op == "TopK") {
        most_words(call);
    } else {
        call.result(extreme_word(call, largest, [&](TensorId x) { return call.result_of(rule, x); }));
    }
    call.result_is_unsigned(0, is_unsigned);
}

constexpr OnnxRuleRow kUnsignedRules[] = {
    {"Cast", unsigned_cast},        {"CastLike", unsigned_cast},
    {"Max", unsigned_ordered},      {"Min", unsigned_ordered},
    {"Clip", unsigned_ordered},     {"Less", unsigned_compared},
    {"Greater", unsigned_compared}, {"LessOrEqual", unsigned_compared},
    {"Div", unsigned_divided},      {"GreaterOrEqual", unsigned_compared},
    {"Mod", unsigned_divided},      {"Pow", unsigned_pow},
    {"BitShift", unsigned_shift},
};

[[noreturn]] void refuse_unsigned(OnnxCall& call, size_t i) {
    const DType held = call.dtype(i);
    call.refuse("operand " + std::to_string(i) + " is of " + (held == DType::i32 ? "uint32" : "uint64") +
                ", whose bits graphs hold as " + name_of(held) + ": this is not done on them");
}

void on_bits(OnnxCall& call, OnnxRule rule, uint32_t given, const BitsRow& row) {
    for (size_t i = 0; i < call.inputs(); ++i)
        if ((given & ~row.operands) >> std::min<size_t>(i, 31) & 1) refuse_unsigned(call, i);
    const std::string reduction = row.op.rfind("Scatter", 0) == 0 ? call.text("reduction", "none") : "none";
    if (reduction == "max" || reduction == "min") refuse_unsigned(call, 0);
    rule(call);
    for (size_t i = 0; i < call.node.outputs.size(); ++i)
        if (row.results >> std::min<size_t>(i, 31) & 1) call.result_is_unsigned(i, true);
}

// Whether the node's attributes make numbers of an unsigned type.
bool makes_unsigned(const OnnxCall& call) {
    if (call.node.op == "Cast") return held_as_onnx(call.integer("to", 0)).is_unsigned;
    const OnnxAttribute* value = call.node.op == "ConstantOfShape" ? call.attribute("value") : nullptr;
    return value != nullptr && value->tensor && value->tensor->is_unsigned;
}

}  // namespace

void onnx_apply_as_of_7(OnnxRule rule, OnnxCall& call) {
    uint32_t given = 0;
    size_t first = 0;
    for (size_t i = call.inputs(); i-- > 0;) {
        if (!call.is_unsigned(i)) continue;
        given |= 1U << std::min<size_t>(i, 31);
        first = i;
    }
    const bool ranks = std::find(std::begin(kRanking), std::end(kRanking), call.node.op) != std::end(kRanking);
    if (ranks && (call.is_unsigned(0) || is_small(call.dtype(0)))) {
        ranked(rule, call);
        return call.finish();
    }
    if (given == 0 && !makes_unsigned(call)) {
        rule(call);
        return call.finish();
    }
    for (const OnnxRuleRow& row : kUnsignedRules) {
        if (row.op != call.node.op) continue;
        row.rule(call);
        return call.finish();
    }
    const auto* row =
        std::find_if(std::begin(kOfBits), std::end(kOfBits), [&](const BitsRow& one) { return one.op == call.node.op; });
    if (row == std::end(kOfBits)) refuse_unsigned(call, first);
    on_bits(call, rule, given, *row);
    call.finish();
}

}  // namespace backplane::formats
