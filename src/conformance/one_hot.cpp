// OneHot moves one of two values: exact, and the same bytes.
#include "conformance/moves.hpp"

namespace backplane::graph::conformance::one_hot {

namespace {

struct Plan {
    Shape indices;
    int64_t depth = 5, axis = -1;
    DType dtype = DType::f32, index_dtype = DType::i64;
    Source source = Source::input;
};

void add(CaseList& list, const std::string& name, const Plan& p) {
    list.add(name, [p](CaseBuilder& b) {
        const auto depth = static_cast<double>(p.depth);
        // On the edge of what counts and beyond; where 64 bits are cut to 32 the last two seem to be 0 and -1.
        const Values indices{-depth, depth - 1, {0, depth - 1, -1, -depth, depth, -depth - 1, 0x1p32, -0x1p32 - 1}};
        const TensorId at = b.operand(p.source, p.index_dtype, p.indices, indices);
        const Values values = is_float(p.dtype) ? Values{-1, 1, {-0.0, kNaN}} : Values{0, 1, {0, 1}};
        b.result(b.add(Op::one_hot, {at, b.input(p.dtype, {2}, values)}, {{Attr::depth, p.depth}, {Attr::axis, p.axis}}));
    });
}

void cases(CaseList& list) {
    for (const DType dtype : kPlain)
        for (const DType index : {DType::i32, DType::i64})
            add(list, std::string("17-") + name_of(dtype) + "-by-" + name_of(index), {{17}, 5, -1, dtype, index});
    for (int axis = 0; axis < 4; ++axis) add(list, "2x3x5-axis-" + std::to_string(axis), {{2, 3, 5}, 7, axis});
    add(list, "scalar", {{}, 3});
    add(list, "one", {{1}, 1});
    add(list, "nothing", {{0}, 3});
    add(list, "no-depth", {{3}, 0});
    add(list, "deep", {{13}, 1009});
    add(list, "many", {{1009}, 2, 0});
    for (const Source source : {Source::weight, Source::constant, Source::transposed, Source::strided})
        add(list, name_of(source), {{5, 7}, 9, 1, DType::f32, DType::i64, source});
    add(list, "rank-8", {{2, 1, 2, 1, 3, 1, 2}, 3, 4});
}

}  // namespace

constinit const OpConformance conformance_one_hot{cases, bounds::moves, true};

}  // namespace backplane::graph::conformance::one_hot
