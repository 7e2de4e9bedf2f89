// TensorScatter moves elements: exact, and the same bytes. Positions before the first, behind the last and far outside drop rows. Numbers that
// go into q8_0 may come out a digit away, where one lies between two, and their scale an f16 away: the largest of a block is 127 digits.
#include <algorithm>
#include <cmath>

#include "conformance/moves.hpp"
#include "graph/evaluate.hpp"

namespace backplane::graph::conformance::tensor_scatter {

namespace {

constexpr size_t kBlock = 32;

std::vector<double> bound(const BoundCall& call) {
    if (is_block(call.inputs[1]->dtype) || !is_block(call.inputs[0]->dtype)) return bounds::moves(call);
    bounds::require_exact_inputs(call);
    ReferenceTensor cache = *call.inputs[0];
    std::fill(cache.data.begin(), cache.data.end(), 0.0);
    ReferenceTensor update = *call.inputs[1];
    for (size_t first = 0; first < update.data.size(); first += kBlock) {
        double most = 0;
        for (size_t i = first; i < first + kBlock; ++i) most = std::max(most, std::fabs(update.data[i]));
        for (size_t i = first; i < first + kBlock; ++i) update.data[i] = 1.01 * most * (1.0 / 127 + 0x1p-10) + 127 * 0x1p-24;
    }
    std::vector<const ReferenceTensor*> inputs(call.inputs.begin(), call.inputs.end());
    inputs[0] = &cache;
    inputs[1] = &update;
    return std::move(evaluate_node(call.definition, inputs, call.attributes, call.outputs)[0].data);
}

struct Plan {
    Shape cache, update;
    int axis = 2;
    std::vector<double> positions = {};  // empty: not given
    DType dtype = DType::f32, position_dtype = DType::i64;
    int mode = BP_SCATTER_LINEAR;
    Source cache_source = Source::input, update_source = Source::input, position_source = Source::input;
    DType update_dtype = DType::unknown;  // another than that of the cache
};

void add(CaseList& list, const std::string& name, const Plan& p) {
    list.add(name, [p](CaseBuilder& b) {
        const TensorId cache = b.operand(p.cache_source, p.dtype, p.cache, moved_values(p.dtype));
        const bool quantises = p.update_dtype != DType::unknown;
        const TensorId update = quantises ? b.operand(p.update_source, p.update_dtype, p.update)
                                          : b.operand(p.update_source, p.dtype, p.update, moved_values(p.dtype));
        std::vector<TensorId> operands{cache, update};
        if (!p.positions.empty())
            operands.push_back(b.operand(p.position_source, p.position_dtype, {p.cache[0]}, {0, 0, p.positions}));
        b.result(b.add(Op::tensor_scatter, operands, {{Attr::axis, p.axis}, {Attr::mode, p.mode}}));
    });
}

void into_blocks(CaseList& list) {
    for (const DType dtype : {DType::q8_0, DType::f32, DType::f16, DType::bf16}) {
        const std::string from = std::string("-") + backplane::name_of(dtype);
        const auto blocks = [&](const std::string& name, Plan p) {
            p.dtype = DType::q8_0;
            if (dtype != DType::q8_0) p.update_dtype = dtype;
            add(list, "q8_0-" + name + from, p);
        };
        blocks("one-block", {{1, 1, 32}, {1, 1, 32}, 1, {0}});
        blocks("one-row", {{3, 2, 11, 64}, {3, 2, 1, 64}, 2, {0, 10, 5}});
        blocks("outside", {{3, 2, 11, 96}, {3, 2, 4, 96}, 2, {9, -2, 1e9}});
        blocks("circular", {{3, 2, 11, 64}, {3, 2, 4, 64}, 2, {9, -1, 5}, DType::f32, DType::i32, BP_SCATTER_CIRCULAR});
        blocks("axis-1", {{2, 7, 3, 32}, {2, 2, 3, 32}, 1, {4, 6}});
        blocks("no-rows", {{3, 2, 11, 32}, {3, 2, 0, 32}, 2, {0, 1, 2}});
        blocks("rows-of-nothing", {{3, 2, 11, 0}, {3, 2, 3, 0}, 2, {0, 1, 2}});
        blocks("large", {{1, 8, 1031, 64}, {1, 8, 67, 64}, 2, {1000}});
        Plan constant{{3, 2, 11, 64}, {3, 2, 3, 64}, 2, {1, 8, 3}};
        constant.cache_source = constant.update_source = constant.position_source = Source::constant;
        blocks("all-constant", constant);
    }
    list.add("q8_0-zeros-and-extremes", [](CaseBuilder& b) {
        std::vector<double> values(96, 0.0);
        for (size_t i = 32; i < 64; ++i) values[i] = i % 3 == 0 ? -65000.0 : 1.0;
        for (size_t i = 64; i < 96; ++i) values[i] = i % 2 == 0 ? 0x1p-8 : -0x1p-14;  // the scale is no normal f16
        const TensorId cache = b.input(DType::q8_0, {1, 4, 96});
        b.result(b.add(Op::tensor_scatter, {cache, b.input(DType::f32, {1, 1, 96}, {0, 0, values})}, {{Attr::axis, 1}}));
    });
}

void cases(CaseList& list) {
    into_blocks(list);
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

constinit const OpConformance conformance_tensor_scatter{cases, bound, true};

}  // namespace backplane::graph::conformance::tensor_scatter
