#include "conformance/elementwise.hpp"

#include <limits>

namespace backplane::graph {

namespace {

// Scalars, one element, odd and prime lengths, nothing at all, every rank.
const std::vector<Shape>& shapes() {
    static const std::vector<Shape> all = {{},
                                           {1},
                                           {2},
                                           {3},
                                           {17},
                                           {1009},
                                           {0},
                                           {2, 0, 3},
                                           {7, 5},
                                           {3, 5, 7},
                                           {1, 1, 1},
                                           {1, 3, 5, 7},
                                           {2, 16, 5, 3},
                                           {1, 17, 9, 11},
                                           {2, 1, 3, 2, 5},
                                           {1, 2, 3, 1, 2, 3},
                                           {2, 1, 2, 1, 3, 1, 2},
                                           {1, 2, 1, 3, 1, 2, 1, 5}};
    return all;
}

struct UnaryCase {
    Source source;
    DType dtype;
    Shape shape;
    Values values;
};

void add_unary(CaseList& list, const ElementwisePlan& plan, const std::string& what, const UnaryCase& c) {
    list.add(what + plan.suffix, [=, op = list.op()](CaseBuilder& b) {
        b.result(b.add(op, {b.operand(c.source, c.dtype, c.shape, c.values)}, plan.attributes));
    });
}

void special_unary(CaseList& list, const ElementwisePlan& plan) {
    for (const DType dtype : kFloatsAndDoubles) {
        Values values{plan.least, plan.most, plan.special};
        // Twice, with other values between, so that special values meet both whole vectors and what is left at the end.
        values.first.insert(values.first.end(), 3, plan.most);
        values.first.insert(values.first.end(), plan.special.begin(), plan.special.end());
        const auto n = static_cast<int64_t>(values.first.size());
        add_unary(list, plan, std::string("special-") + name_of(dtype), {Source::input, dtype, {n}, values});
        add_unary(list, plan, std::string("special-many-") + name_of(dtype), {Source::input, dtype, {n + 64}, values});
    }
}

void integer_unary(CaseList& list, const ElementwisePlan& plan) {
    for (const DType dtype : {DType::i32, DType::i64}) {
        Values values = usual_values(dtype);
        values.first = {0, -1, 1, 2147483647.0, -2147483648.0, -2147483647.0};
        for (const Shape& shape : {Shape{}, Shape{19}, Shape{3, 5, 7}, Shape{0}})
            add_unary(list, plan, text_of(shape) + "-" + name_of(dtype), {Source::input, dtype, shape, values});
        add_unary(list, plan, std::string("transposed-") + name_of(dtype), {Source::transposed, dtype, {3, 5, 7}, values});
    }
}

struct BinaryCase {
    Source a_source = Source::input, b_source = Source::input;
    DType dtype = DType::f32;
    Shape a, b;
};

bool repeats_second_alone(const Shape& a, const Shape& b) {
    if (b.size() > a.size()) return false;
    for (size_t d = 0; d < b.size(); ++d)
        if (const int64_t extent = a[a.size() - b.size() + d]; b[d] != extent && b[d] != 1) return false;
    return true;
}

// Repeating `a` is no case of an op that repeats its second operand alone.
void add_binary(CaseList& list, const BinaryPlan& plan, const std::string& what, const BinaryCase& c, const Values& a,
                const Values& b) {
    if (!plan.both_ways && !repeats_second_alone(c.a, c.b)) return;
    list.add(what + plan.suffix, [=, attributes = plan.attributes, op = list.op()](CaseBuilder& builder) {
        const TensorId left = builder.operand(c.a_source, c.dtype, c.a, a);
        builder.result(builder.add(op, {left, builder.operand(c.b_source, c.dtype, c.b, b)}, attributes));
    });
}

std::string name_of_pair(const BinaryCase& c) {
    return text_of(c.a) + "-" + text_of(c.b) + "-" + backplane::name_of(c.dtype);
}

// Broadcast in every direction: scalar, inner, outer, a channel, a gap between axes, both sides at once, missing axes.
const std::vector<std::pair<Shape, Shape>>& pairs() {
    static const std::vector<std::pair<Shape, Shape>> all = {
        {{}, {}},
        {{17}, {17}},
        {{1009}, {1009}},
        {{0}, {0}},
        {{0}, {1}},
        {{0, 3}, {3}},
        {{1}, {1}},
        {{3, 5}, {}},
        {{}, {3, 5}},
        {{3, 5}, {5}},
        {{5}, {3, 5}},
        {{3, 5}, {3, 1}},
        {{3, 5, 8}, {3, 1, 1}},
        {{3, 1, 4}, {3, 5, 1}},
        {{2, 5, 8}, {2, 1, 8}},
        {{3, 1}, {3, 5}},
        {{3, 1}, {1, 5}},
        {{1, 7}, {3, 1}},
        {{2, 3, 5, 7}, {2, 3, 5, 7}},
        {{1, 16, 5, 7}, {1, 16, 5, 7}},
        {{2, 17, 5, 7}, {17, 1, 1}},
        {{17, 1, 1}, {2, 17, 5, 7}},
        {{2, 16, 5, 7}, {1, 16, 1, 1}},
        {{2, 16, 5, 7}, {2, 16, 1, 1}},
        {{2, 3, 5, 7}, {2, 1, 5, 7}},
        {{2, 3, 5, 7}, {1, 1, 1, 7}},
        {{2, 1, 5, 1}, {1, 3, 1, 7}},
        {{2, 3, 5, 7}, {1, 1, 5, 1}},
        {{3, 2, 5, 3, 2}, {2, 1, 3, 1}},
        {{1, 2, 1, 3, 1, 2, 1, 2}, {2, 1, 1, 2, 1, 2, 1}},
        {{1, 1, 1, 1, 1, 1, 1, 1}, {}},
    };
    return all;
}

void binary_sources(CaseList& list, const BinaryPlan& plan) {
    using enum Source;
    const std::pair<Source, Source> sources[] = {
        {input, constant},   {constant, input},   {input, weight},          {weight, input},  {weight, constant},
        {transposed, input}, {input, transposed}, {transposed, transposed}, {strided, input}, {input, strided}};
    for (const auto& [a, b] : sources) {
        const std::string what = std::string(name_of(a)) + "-" + name_of(b);
        add_binary(list, plan, what, {a, b, plan.dtype, {3, 5, 7}, {3, 5, 7}}, plan.a, plan.b);
        add_binary(list, plan, what + "-channels", {a, b, plan.dtype, {1, 16, 5, 3}, {16, 1, 1}}, plan.a, plan.b);
    }
}

void binary_integers(CaseList& list, const BinaryPlan& plan) {
    if (!plan.integers) return;
    for (const DType dtype : {DType::i32, DType::i64}) {
        Values a = usual_values(dtype), b = a;
        // Wraps, the least number, division by 0 and by -1; i64 within what a double holds.
        a.first = {2147483647.0, -2147483648.0, 7, -7, 0, -2147483648.0, 65536, 1};
        b.first = {1, -1, 0, 2, 0, 2147483647.0, 65536, -3};
        for (const auto& [left, right] : {Shapes{{}, {}}, Shapes{{19}, {19}}, Shapes{{3, 5}, {}}, Shapes{{5}, {3, 5}},
                                          Shapes{{3, 1}, {1, 5}}, Shapes{{0}, {1}}}) {
            const BinaryCase c{Source::input, Source::input, dtype, left, right};
            add_binary(list, plan, name_of_pair(c), c, a, b);
        }
    }
}

}  // namespace

void unary_cases(CaseList& list, const ElementwisePlan& plan) {
    const Values values{plan.least, plan.most};
    for (const Shape& shape : shapes())
        add_unary(list, plan, text_of(shape) + "-" + name_of(plan.dtype), {Source::input, plan.dtype, shape, values});
    for (const Source source : {Source::weight, Source::constant, Source::transposed, Source::strided})
        for (const Shape& shape : {Shape{5, 7}, Shape{2, 3, 5, 7}})
            add_unary(list, plan, std::string(name_of(source)) + "-" + text_of(shape), {source, plan.dtype, shape, values});
    if (!is_float(plan.dtype)) return;
    for (const DType dtype : {DType::f16, DType::bf16})
        for (const Shape& shape : {Shape{}, Shape{1}, Shape{1009}, Shape{0}, Shape{3, 5, 7}, Shape{1, 17, 9, 11}})
            add_unary(list, plan, text_of(shape) + "-" + name_of(dtype), {Source::input, dtype, shape, values});
    for (const Shape& shape : {Shape{}, Shape{17}, Shape{1009}, Shape{0}, Shape{3, 5, 7}})
        add_unary(list, plan, text_of(shape) + "-f64", {Source::input, DType::f64, shape, values});
    add_unary(list, plan, "transposed-f64", {Source::transposed, DType::f64, {3, 5, 7}, values});
    add_unary(list, plan, "transposed-f16", {Source::transposed, DType::f16, {3, 5, 7}, values});
    if (plan.wide_most > plan.wide_least)
        add_unary(list, plan, "wide-f32", {Source::input, DType::f32, {1009}, Values{plan.wide_least, plan.wide_most}});
    if (!plan.special.empty()) special_unary(list, plan);
    if (plan.integers) integer_unary(list, plan);
}

void rounding_cases(CaseList& list) {
    ElementwisePlan plan;
    plan.wide_least = -1e9;
    plan.wide_most = 1e9;
    plan.special = {0.0,        -0.0,       0.5,         -0.5, 1.5,   -1.5,      2.5,        -2.5, 8388607.5,
                    -8388607.5, 16777216.0, -16777216.0, 1e30, -1e30, kInfinity, -kInfinity, kNaN};
    unary_cases(list, plan);
}

void binary_cases(CaseList& list, const BinaryPlan& plan) {
    binary_integers(list, plan);
    if (!plan.floats) return;
    for (const auto& [a, b] : pairs()) {
        const BinaryCase c{Source::input, Source::input, plan.dtype, a, b};
        add_binary(list, plan, name_of_pair(c), c, plan.a, plan.b);
    }
    binary_sources(list, plan);
    list.add("same-tensor-twice" + plan.suffix, [plan, op = list.op()](CaseBuilder& b) {
        const TensorId x = b.input(plan.dtype, {3, 5, 7}, plan.b);
        b.result(b.add(op, {x, x}, plan.attributes));
    });
    if (!is_float(plan.dtype)) return;
    for (const DType dtype : {DType::f16, DType::bf16, DType::f64})
        for (const auto& [a, b] :
             {Shapes{{17}, {17}}, Shapes{{2, 17, 5, 7}, {17, 1, 1}}, Shapes{{}, {3, 5}}, Shapes{{0}, {1}},
              // Inner axes of whole fours, of which the other side has one each, or the same for all.
              Shapes{{2, 5, 8}, {2, 1, 1}}, Shapes{{3, 1, 12}, {3, 5, 1}}, Shapes{{2, 3, 4}, {3, 4}},
              Shapes{{2, 5, 8}, {2, 1, 8}}}) {
            const BinaryCase c{Source::input, Source::input, dtype, a, b};
            add_binary(list, plan, name_of_pair(c), c, plan.a, plan.b);
        }
    for (const DType dtype : kFloatsAndDoubles) {
        if (plan.special.empty()) break;
        Values a = plan.a, b = plan.b;
        for (const auto& [left, right] : plan.special) {
            a.first.push_back(left);
            b.first.push_back(right);
        }
        const auto n = static_cast<int64_t>(plan.special.size());
        for (const int64_t more : {0, 67}) {
            const BinaryCase c{Source::input, Source::input, dtype, {n + more}, {n + more}};
            add_binary(list, plan, "special-" + name_of_pair(c), c, a, b);
        }
    }
}

void comparison_cases(CaseList& list) {
    std::vector<std::pair<double, double>> special = arithmetic_specials();
    special.insert(special.end(), {{-0.0, 0.0},
                                   {kNaN, kNaN},
                                   {kNaN, kInfinity},
                                   {-kInfinity, kInfinity},
                                   {2.5, 2.5},
                                   {-2.5, -2.5},
                                   {1.0, 1.0 + 0x1p-23},
                                   {-1.0, -1.0 - 0x1p-23},
                                   {3e38, kInfinity}});
    binary_cases(list, {{-4, 4}, {-4, 4}, special});
    // Apart by less than a float tells, and by less than the low half of 64 bits.
    const std::vector<double> left = {16777217, -16777217, 2147483647, 0x1p40 + 1, 0x1p40, -0x1p40, 0x1p32, 5, -1};
    const std::vector<double> right = {16777216, -16777216, 2147483646, 0x1p40, 0x1p40 + 1, -0x1p40, 0, 5, 0x1p32};
    for (const DType dtype : {DType::i32, DType::i64})
        add_binary(list, {}, std::string("close-") + name_of(dtype), {Source::input, Source::input, dtype, {21}, {21}},
                   {-2, 2, left}, {-2, 2, right});
}

void logical_cases(CaseList& list) {
    binary_cases(list, {{0, 1, {0, 0, 1, 1}}, {0, 1, {0, 1, 0, 1}}, {}, false, DType::boolean});
}

std::vector<std::pair<double, double>> arithmetic_specials() {
    return {{kInfinity, 1.0},
            {kInfinity, -kInfinity},
            {kInfinity, kInfinity},
            {kNaN, 1.0},
            {1.0, kNaN},
            {0.0, -0.0},
            {-0.0, -0.0},
            {0.0, kInfinity},
            {1.0, 0.0},
            {-1.0, 0.0},
            {1.0, -0.0},
            {0.0, 0.0}};
}

}  // namespace backplane::graph
