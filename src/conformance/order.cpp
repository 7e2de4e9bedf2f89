#include "conformance/order.hpp"

namespace backplane::graph {

namespace {

struct ArgCase {
    Shape x;
    int64_t axis = 0;
    DType dtype = DType::f32;
    Values values = ordered_values(dtype);
    Source source = Source::input;
};

// The axis kept and dropped, the first and the last of equal ones.
void add_arg(CaseList& list, const std::string& name, const ArgCase& c) {
    for (const int keepdims : {1, 0}) {
        const int last = 1 - keepdims;
        list.add(name + (last != 0 ? "-last-dropped" : ""), [=, op = list.op()](CaseBuilder& b) {
            b.result(b.add(op, {b.operand(c.source, c.dtype, c.x, c.values)},
                           {{Attr::axis, c.axis}, {Attr::keepdims, keepdims}, {Attr::select_last_index, last}}));
        });
    }
}

}  // namespace

void arg_cases(CaseList& list) {
    for (int axis = 0; axis < 4; ++axis) add_arg(list, "2x3x5x7-axis-" + std::to_string(axis), {{2, 3, 5, 7}, axis});
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f64, DType::i32, DType::i64}) {
        add_arg(list, std::string("67-") + name_of(dtype), {{67}, 0, dtype});
        add_arg(list, std::string("5x13-") + name_of(dtype), {{5, 13}, 1, dtype});
    }
    for (const DType dtype : kFloatsAndDoubles) {
        add_arg(list, std::string("nan-") + name_of(dtype), {{2, 33}, 1, dtype, ordered_values(dtype, true)});
        add_arg(list, std::string("nan-throughout-") + name_of(dtype),
                {{1, 5}, 1, dtype, {0, 1, std::vector<double>(5, kNaN)}});
    }
    for (const Shape& shape : {Shape{1}, Shape{1009}, Shape{5003}, Shape{0, 3}, Shape{3, 0}, Shape{17, 1}, Shape{1, 17}})
        add_arg(list, text_of(shape), {shape, shape[0] == 0 ? 1 : 0});
    add_arg(list, "all-equal", {{3, 130}, 1, DType::f32, {2, 2}});
    add_arg(list, "far-apart", {{2, 9}, 1, DType::i64, {-1, 1, {0x1p40, 0x1p40 + 1, -0x1p40, 0x1p32, -0x1p32, 1}}});
    add_arg(list, "extremes", {{2, 9}, 1, DType::i32, {-1, 1, {2147483647, -2147483648.0, 2147483646, -2147483647}}});
    for (const Source source : {Source::weight, Source::constant, Source::transposed, Source::strided})
        add_arg(list, name_of(source), {{5, 7}, 1, DType::f32, ordered_values(DType::f32), source});
    add_arg(list, "classes-of-a-map", {{1, 21, 9, 11}, 1});
}

}  // namespace backplane::graph
