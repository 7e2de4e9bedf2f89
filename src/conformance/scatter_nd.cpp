// ScatterND moves elements: exact, and the same bytes. An index out of range is an error when it runs, and no case; nor are places that repeat.
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
};

void add(CaseList& list, const std::string& name, const Plan& p) {
    list.add(name, [p](CaseBuilder& b) {
        Shape indices = p.places;
        indices.push_back(p.width);
        Shape updates = p.places;
        updates.insert(updates.end(), p.data.begin() + p.width, p.data.end());
        const TensorId data = b.operand(p.source, p.dtype, p.data, moved_values(p.dtype));
        const TensorId at = b.operand(p.source, p.index_dtype, indices, {0, 0, p.indices});
        b.result(b.add(Op::scatter_nd, {data, at, b.operand(p.source, p.dtype, updates, moved_values(p.dtype))}));
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
}

}  // namespace

constinit const OpConformance conformance_scatter_nd{cases, bounds::moves, true};

}  // namespace backplane::graph::conformance::scatter_nd
