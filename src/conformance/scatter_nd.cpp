// ScatterND moves elements: exact, and the same bytes. An index out of range is an error when it runs, and no case; nor are places that repeat, but
// with a reduction: of numbers of few bits, for which it is exact in every type.
#include "conformance/moves.hpp"

namespace backplane::graph::conformance::scatter_nd {

namespace {

struct Plan {
    Shape data;
    Shape places;                 // the shape of indices but for its last axis
    std::vector<double> indices;  // all of them
    int64_t width = 1;            // the last axis of indices
    DType dtype = DType::f32, index_dtype = DType::i64;
    Source source = Source::input;
    int reduction = BP_REDUCTION_NONE;
};

// Numbers of few bits: halves from -2 to 2, or 1, 2, -1 and a half, which products of many leave exact.
Values reduced_values(const Plan& p, int64_t n) {
    Values values{-2, 2};
    const bool floats = is_float(p.dtype);
    const double factors[] = {1, 2, -1, floats ? 0.5 : 3};
    for (int64_t i = 0; i < n; ++i)
        values.first.push_back(p.reduction == BP_REDUCTION_MUL ? factors[i % 4]
                                                               : static_cast<double>(i * 7 % 9 - 4) / (floats ? 2 : 1));
    return values;
}

void add(CaseList& list, const std::string& name, const Plan& p) {
    list.add(name, [p](CaseBuilder& b) {
        Shape indices = p.places;
        indices.push_back(p.width);
        Shape updates = p.places;
        updates.insert(updates.end(), p.data.begin() + p.width, p.data.end());
        const bool reduces = p.reduction != BP_REDUCTION_NONE;
        const auto values = [&](const Shape& shape) {
            return reduces ? reduced_values(p, elements(shape)) : moved_values(p.dtype);
        };
        const TensorId data = b.operand(p.source, p.dtype, p.data, values(p.data));
        const TensorId at = b.operand(p.source, p.index_dtype, indices, {0, 0, p.indices});
        const TensorId more = b.operand(p.source, p.dtype, updates, values(updates));
        b.result(b.add(Op::scatter_nd, {data, at, more}, {{Attr::reduction, p.reduction}}));
    });
}

// Every `step`-th of `extent` positions, first from the front, then from the end: none twice where step does not divide extent.
std::vector<double> spread(int64_t extent, int64_t step, int64_t count) {
    std::vector<double> all;
    for (int64_t i = 0; i < count; ++i) {
        const int64_t at = i * step % extent;
        all.push_back(static_cast<double>(i % 2 == 0 ? at : at - extent));
    }
    return all;
}

// Places that repeat, next to each other and apart, as the same and as other numbers.
void reduction_cases(CaseList& list, const std::string& how, int reduction) {
    const auto with = [&](const std::string& name, Plan p) {
        p.reduction = reduction;
        add(list, how + name, p);
    };
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f64, DType::i32, DType::i64})
        for (const DType index : {DType::i32, DType::i64})
            with(std::string("rows-") + name_of(dtype) + "-by-" + name_of(index),
                 {{7, 5}, {6}, {2, -1, 2, 0, -5, 6}, 1, dtype, index});
    with("elements", {{3, 5}, {4}, {0, 0, 2, -1, -3, -5, -1, 4}, 2});
    with("all-at-one-place", {{3}, {17}, std::vector<double>(17, -2)});
    with("many-at-few-places", {{11}, {67}, spread(11, 4, 67)});
    with("blocks", {{4, 3, 5, 7}, {2, 2}, {0, 1, 3, -1, -4, 1, 1, -3}, 2});
    with("whole", {{3, 5}, {2}, {}, 0});
    with("one", {{1}, {2}, {-1, 0}});
    with("no-places", {{3, 5}, {0}, {}});
    with("of-nothing", {{0, 5}, {0}, {}});
    with("rows-of-nothing", {{3, 0}, {2}, {0, 2}});
    with("long-rows", {{5, 1009}, {3}, {4, 0, -1}});
    with("transposed", {{7, 5}, {2}, {3, -4}, 1, DType::f32, DType::i64, Source::transposed});
}

void cases(CaseList& list) {
    for (const DType dtype : kPlain)
        for (const DType index : {DType::i32, DType::i64})
            add(list, std::string("rows-") + name_of(dtype) + "-by-" + name_of(index),
                {{7, 5}, {3}, {2, -1, 0}, 1, dtype, index});
    add(list, "elements", {{3, 5}, {4}, {0, 0, 2, -1, -2, 3, 1, 1}, 2});
    add(list, "elements-of-one-axis", {{1009}, {67}, spread(1009, 15, 67)});
    add(list, "all-of-17", {{17}, {17}, spread(17, 3, 17)});
    add(list, "blocks", {{4, 3, 5, 7}, {2, 2}, {0, 1, 3, -1, 2, 0, 1, -3}, 2});
    add(list, "whole", {{3, 5}, {}, {}, 0});
    add(list, "one", {{1}, {1}, {-1}});
    add(list, "no-places", {{3, 5}, {0}, {}});
    add(list, "of-nothing", {{0, 5}, {0}, {}});
    add(list, "rows-of-nothing", {{3, 0}, {2}, {0, 2}});
    add(list, "long-rows", {{5, 1009}, {3}, {4, 0, -3}});
    add(list, "rank-8", {{2, 1, 3, 1, 2, 1, 2, 2}, {2}, {0, 0, 1, 1, 0, -1}, 3});
    for (const Source source : {Source::weight, Source::constant, Source::transposed})
        add(list, name_of(source), {{7, 5}, {2}, {3, -1}, 1, DType::f32, DType::i64, source});
    for (const auto& [reduction, how] : {Named{BP_REDUCTION_ADD, "add-"}, Named{BP_REDUCTION_MUL, "mul-"},
                                         Named{BP_REDUCTION_MAX, "max-"}, Named{BP_REDUCTION_MIN, "min-"}})
        reduction_cases(list, how, reduction);
}

}  // namespace

constinit const OpConformance conformance_scatter_nd{cases, bounds::moves, true};

}  // namespace backplane::graph::conformance::scatter_nd
