// Cases that ops which only move elements share: every plain element type, special values, views.
#pragma once

#include <string>
#include <vector>

#include "conformance/bounds.hpp"
#include "conformance/support.hpp"

namespace backplane::graph {

// Zeros of both signs, infinities, NaN and a number below the smallest normal one: moved as they are.
inline Values moved_values(DType dtype) {
    Values values = usual_values(dtype);
    if (is_float(dtype)) values.first = {0.0, -0.0, kInfinity, -kInfinity, kNaN, dtype == DType::f16 ? 0x1p-20 : 0x1p-130};
    return values;
}

struct MoveCase {
    std::string name;  // of what is special about it
    Shape shape;
    std::vector<Attribute> attributes;
};

// y = op(x) in one element type from one source.
inline void add_move(CaseList& list, const std::string& name, const MoveCase& c, Source source, DType dtype) {
    list.add(name, [=, op = list.op()](CaseBuilder& b) {
        b.result(b.add(op, {b.operand(source, dtype, c.shape, moved_values(dtype))}, c.attributes));
    });
}

// All of `cases` in float32; the first in every type and from every source, so begin with one that does everything.
inline void move_cases(CaseList& list, const std::vector<MoveCase>& cases) {
    for (const MoveCase& c : cases) add_move(list, c.name + "-f32", c, Source::input, DType::f32);
    for (const DType dtype : kPlain)
        if (dtype != DType::f32) add_move(list, cases[0].name + "-" + name_of(dtype), cases[0], Source::input, dtype);
    for (const Source source : {Source::weight, Source::constant, Source::transposed, Source::strided})
        for (const DType dtype : {DType::f32, DType::f16, DType::u8})
            add_move(list, std::string(name_of(source)) + "-" + name_of(dtype), cases[0], source, dtype);
}

// Picks by integers along an axis of x.
struct PickCase {
    Shape x, indices;
    int axis = 0;
    DType dtype = DType::f32, index_dtype = DType::i64;
    Source source = Source::input, index_source = Source::input;
};

// y = op(x, indices)
inline void add_pick(CaseList& list, const std::string& name, const PickCase& c) {
    list.add(name, [c, op = list.op()](CaseBuilder& b) {
        const auto extent = static_cast<double>(c.x[static_cast<size_t>(c.axis)]);
        const TensorId x = b.operand(c.source, c.dtype, c.x, moved_values(c.dtype));
        // From both ends: the first, the last, and all between by chance.
        const Values indices{-extent, extent - 1, {0, -1, extent - 1, -extent}};
        b.result(b.add(op, {x, b.operand(c.index_source, c.index_dtype, c.indices, indices)}, {{Attr::axis, c.axis}}));
    });
}

}  // namespace backplane::graph
