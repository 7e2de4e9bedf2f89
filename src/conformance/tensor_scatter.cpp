// TensorScatter moves elements: exact, and the same bytes. Positions before the first, behind the last and far outside drop rows.
#include "conformance/moves.hpp"

namespace backplane::graph::conformance::tensor_scatter {

namespace {

struct Plan {
    Shape cache, update;
    int axis = 2;
    std::vector<double> positions = {};  // empty: not given
    DType dtype = DType::f32, position_dtype = DType::i64;
    int mode = BP_SCATTER_LINEAR;
    Source cache_source = Source::input, update_source = Source::input, position_source = Source::input;
};

void add(CaseList& list, const std::string& name, const Plan& p) {
    list.add(name, [p](CaseBuilder& b) {
        const TensorId cache = b.operand(p.cache_source, p.dtype, p.cache, moved_values(p.dtype));
        const TensorId update = b.operand(p.update_source, p.dtype, p.update, moved_values(p.dtype));
        std::vector<TensorId> operands{cache, update};
        if (!p.positions.empty())
            operands.push_back(b.operand(p.position_source, p.position_dtype, {p.cache[0]}, {0, 0, p.positions}));
        b.result(b.add(Op::tensor_scatter, operands, {{Attr::axis, p.axis}, {Attr::mode, p.mode}}));
    });
}

void cases(CaseList& list) {
    const Shape cache{3, 2, 11, 5};
    for (const DType dtype : kPlain)
        for (const DType position : {DType::i32, DType::i64})
            add(list, std::string("three-rows-") + name_of(dtype) + "-at-" + name_of(position),
                {cache, {3, 2, 3, 5}, 2, {0, 8, 4}, dtype, position});
    add(list, "no-positions", {cache, {3, 2, 3, 5}});
    add(list, "one-row", {cache, {3, 2, 1, 5}, 2, {0, 10, 5}});
    add(list, "behind-the-last", {cache, {3, 2, 4, 5}, 2, {9, 11, 10}});
    add(list, "before-the-first", {cache, {3, 2, 4, 5}, 2, {-1, -4, -3}});
    add(list, "far-outside", {cache, {3, 2, 4, 5}, 2, {2147483647.0, -2147483648.0, 12}, DType::f32, DType::i32});
    add(list, "far-outside-i64", {cache, {3, 2, 4, 5}, 2, {0x1p52, -0x1p52, 0}});
    for (const DType position : {DType::i32, DType::i64})
        add(list, std::string("circular-") + name_of(position),
            {cache, {3, 2, 4, 5}, 2, {9, -1, 1000003}, DType::f32, position, BP_SCATTER_CIRCULAR});
    add(list, "circular-whole", {cache, cache, 2, {7, 0, -7}, DType::f16, DType::i64, BP_SCATTER_CIRCULAR});
    add(list, "whole", {cache, cache, 2, {0, 0, 0}});
    add(list, "no-rows", {cache, {3, 2, 0, 5}, 2, {0, 1, 2}});
    add(list, "nothing", {{0, 2, 11, 5}, {0, 2, 3, 5}, 2});
    add(list, "rows-of-nothing", {{3, 2, 11, 0}, {3, 2, 3, 0}, 2, {0, 1, 2}});
    add(list, "axis-1", {{2, 7, 3}, {2, 2, 3}, 1, {5, 6}});
    add(list, "axis-last", {{2, 3, 7}, {2, 3, 2}, 2, {1, 4}});
    add(list, "rank-8", {{2, 1, 2, 1, 3, 2, 5, 3}, {2, 1, 2, 1, 3, 2, 2, 3}, 6, {3, 4}});
    add(list, "large", {{1, 8, 1031, 64}, {1, 8, 67, 64}, 2, {1000}, DType::f16});
    add(list, "weight", {cache, {3, 2, 3, 5}, 2, {1, 2, 3}, DType::f16, DType::i64, BP_SCATTER_LINEAR, Source::weight});
    Plan views{cache, {3, 2, 3, 5}, 2, {1, 8, 3}};
    views.cache_source = views.update_source = Source::transposed;
    add(list, "transposed", views);
    views.cache_source = views.update_source = Source::strided;
    add(list, "strided", views);
    views.cache_source = views.update_source = views.position_source = Source::constant;
    add(list, "all-constant", views);
}

}  // namespace

constinit const OpConformance conformance_tensor_scatter{cases, bounds::moves, true};

}  // namespace backplane::graph::conformance::tensor_scatter
