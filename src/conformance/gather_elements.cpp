// GatherElements moves elements: exact, and the same bytes. An index out of range is an error when it runs, and no case.
#include "conformance/moves.hpp"

namespace backplane::graph::conformance::gather_elements {

namespace {

void cases(CaseList& list) {
    for (const DType dtype : kPlain)
        for (const DType index : {DType::i32, DType::i64})
            add_pick(list, std::string("5x7-axis-0-") + name_of(dtype) + "-by-" + name_of(index),
                     {{5, 7}, {11, 6}, 0, dtype, index});
    for (int axis = 0; axis < 4; ++axis) {
        Shape indices{2, 3, 4, 5};
        indices[static_cast<size_t>(axis)] = 9;
        add_pick(list, "2x3x5x7-axis-" + std::to_string(axis), {{2, 3, 5, 7}, indices, axis});
    }
    add_pick(list, "one-of-one", {{1}, {1}});
    add_pick(list, "1009-of-17", {{17}, {1009}});
    add_pick(list, "no-indices", {{17, 5}, {0, 5}});
    add_pick(list, "no-indices-of-nothing", {{0, 5}, {0, 3}});
    add_pick(list, "rows-of-nothing", {{5, 0}, {3, 0}});
    add_pick(list, "same-shape", {{67, 33}, {67, 33}, 1});
    add_pick(list, "weight", {{17, 33}, {17, 3}, 1, DType::f16, DType::i64, Source::weight});
    add_pick(list, "constant-indices", {{5, 7}, {5, 4}, 1, DType::f32, DType::i32, Source::input, Source::constant});
    add_pick(list, "transposed", {{5, 7}, {4, 7}, 0, DType::f32, DType::i64, Source::transposed, Source::transposed});
    add_pick(list, "strided", {{5, 7}, {3, 2}, 1, DType::f32, DType::i32, Source::strided, Source::strided});
    add_pick(list, "rank-8", {{2, 1, 3, 2, 1, 2, 3, 2}, {2, 1, 3, 2, 1, 2, 5, 1}, 6});
}

}  // namespace

constinit const OpConformance conformance_gather_elements{cases, bounds::moves, true};

}  // namespace backplane::graph::conformance::gather_elements
