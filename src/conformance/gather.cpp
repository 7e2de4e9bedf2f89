// Gather moves elements: exact, and the same bytes. An index out of range is an error when it runs, and no case.
#include "conformance/moves.hpp"

namespace backplane::graph::conformance::gather {

namespace {

void cases(CaseList& list) {
    for (const DType dtype : kPlain)
        for (const DType index : {DType::i32, DType::i64})
            add_pick(list, std::string("5x7-axis-0-") + name_of(dtype) + "-by-" + name_of(index),
                     {{5, 7}, {11}, 0, dtype, index});
    for (int axis = 0; axis < 4; ++axis)
        add_pick(list, "2x3x5x7-axis-" + std::to_string(axis), {{2, 3, 5, 7}, {2, 3}, axis});
    add_pick(list, "one-of-one", {{1}, {1}});
    add_pick(list, "scalar-index", {{17, 5}, {}});
    add_pick(list, "no-indices", {{17, 5}, {0}});
    add_pick(list, "no-indices-of-nothing", {{0, 5}, {0}});
    add_pick(list, "rows-of-nothing", {{5, 0}, {3}});
    add_pick(list, "embedding", {{101, 67}, {1, 13}, 0, DType::f32, DType::i64, Source::weight});
    add_pick(list, "embedding-f16", {{101, 67}, {1, 13}, 0, DType::f16, DType::i64, Source::weight});
    add_pick(list, "constant-indices", {{5, 7}, {4}, 1, DType::f32, DType::i32, Source::input, Source::constant});
    add_pick(list, "all-constant", {{5, 7}, {4}, 1, DType::f32, DType::i32, Source::constant, Source::constant});
    add_pick(list, "transposed", {{5, 7}, {4}, 0, DType::f32, DType::i64, Source::transposed, Source::transposed});
    add_pick(list, "strided", {{5, 7}, {2, 2}, 1, DType::f32, DType::i32, Source::strided, Source::strided});
    for (const DType blocks : kBlocks) {
        const std::string name = name_of(blocks);
        const int64_t one = block_of(blocks);
        add_pick(list, name, {{37, 2 * one}, {5}, 0, blocks});
        add_pick(list, name + "-one-row", {{1, one}, {}, 0, blocks, DType::i32});
        add_pick(list, name + "-no-indices", {{5, one}, {0}, 0, blocks});
        add_pick(list, name + "-embedding", {{101, 3 * one}, {2, 13}, 0, blocks, DType::i64, Source::weight});
        add_pick(list, name + "-constant", {{11, one}, {7}, 0, blocks, DType::i64, Source::constant});
        add_pick(list, name + "-middle", {{2, 7, 3, one}, {2, 2}, 1, blocks});
    }
    add_pick(list, "rank-8", {{2, 1, 3, 2, 1, 2, 3}, {2, 2}, 2});
}

}  // namespace

constinit const OpConformance conformance_gather{cases, bounds::moves, true};

}  // namespace backplane::graph::conformance::gather
