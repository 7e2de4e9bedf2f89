// GatherElements moves elements: exact, and the same bytes. An index out of range is an error when it runs, and no case.
#include "conformance/moves.hpp"

namespace backplane::graph::conformance::gather_elements {

namespace {

struct Plan {
    Shape x, indices;
    int axis = 0;
    DType dtype = DType::f32, index_dtype = DType::i64;
    Source source = Source::input, index_source = Source::input;
};

void add(CaseList& list, const std::string& name, const Plan& p) {
    list.add(name, [p](CaseBuilder& b) {
        const auto extent = static_cast<double>(p.x[static_cast<size_t>(p.axis)]);
        const TensorId x = b.operand(p.source, p.dtype, p.x, moved_values(p.dtype));
        // From both ends: the first, the last, and all between by chance.
        const Values indices{-extent, extent - 1, {0, -1, extent - 1, -extent}};
        b.result(b.add(Op::gather_elements, {x, b.operand(p.index_source, p.index_dtype, p.indices, indices)},
                       {{Attr::axis, p.axis}}));
    });
}

void cases(CaseList& list) {
    for (const DType dtype : kPlain)
        for (const DType index : {DType::i32, DType::i64})
            add(list, std::string("5x7-axis-0-") + name_of(dtype) + "-by-" + name_of(index),
                {{5, 7}, {11, 6}, 0, dtype, index});
    for (int axis = 0; axis < 4; ++axis) {
        Shape indices{2, 3, 4, 5};
        indices[static_cast<size_t>(axis)] = 9;
        add(list, "2x3x5x7-axis-" + std::to_string(axis), {{2, 3, 5, 7}, indices, axis});
    }
    add(list, "one-of-one", {{1}, {1}});
    add(list, "1009-of-17", {{17}, {1009}});
    add(list, "no-indices", {{17, 5}, {0, 5}});
    add(list, "no-indices-of-nothing", {{0, 5}, {0, 3}});
    add(list, "rows-of-nothing", {{5, 0}, {3, 0}});
    add(list, "same-shape", {{67, 33}, {67, 33}, 1});
    add(list, "weight", {{17, 33}, {17, 3}, 1, DType::f16, DType::i64, Source::weight});
    add(list, "constant-indices", {{5, 7}, {5, 4}, 1, DType::f32, DType::i32, Source::input, Source::constant});
    add(list, "transposed", {{5, 7}, {4, 7}, 0, DType::f32, DType::i64, Source::transposed, Source::transposed});
    add(list, "strided", {{5, 7}, {3, 2}, 1, DType::f32, DType::i32, Source::strided, Source::strided});
    add(list, "rank-8", {{2, 1, 3, 2, 1, 2, 3, 2}, {2, 1, 3, 2, 1, 2, 5, 1}, 6});
}

}  // namespace

constinit const OpConformance conformance_gather_elements{cases, bounds::moves, true};

}  // namespace backplane::graph::conformance::gather_elements
