// TopK is a choice: exact, the order of equal elements too.
#include "conformance/order.hpp"

namespace backplane::graph::conformance::top_k {

namespace {

struct Plan {
    Shape x;
    int64_t k = 1, axis = -1;
    DType dtype = DType::f32;
    Values values = ordered_values(dtype);
    Source source = Source::input;
};

void add(CaseList& list, const std::string& name, const Plan& p) {
    for (const int largest : {1, 0})
        list.add(name + (largest != 0 ? "" : "-smallest"), [=](CaseBuilder& b) {
            for (const TensorId part : b.add_all(Op::top_k, {b.operand(p.source, p.dtype, p.x, p.values)},
                                                 {{Attr::axis, p.axis}, {Attr::k, p.k}, {Attr::largest, largest}}))
                b.result(part);
        });
}

void cases(CaseList& list) {
    for (int axis = 0; axis < 4; ++axis) add(list, "2x3x5x7-axis-" + std::to_string(axis), {{2, 3, 5, 7}, 2, axis});
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f64, DType::i32, DType::i64})
        add(list, std::string("5x37-") + name_of(dtype), {{5, 37}, 9, -1, dtype});
    for (const DType dtype : kFloats)
        add(list, std::string("nan-") + name_of(dtype), {{2, 33}, 5, -1, dtype, ordered_values(dtype, true)});
    add(list, "one-of-one", {{1}, 1});
    add(list, "one-of-1009", {{1009}, 1});
    add(list, "all-of-130", {{130}, 130});
    add(list, "none", {{3, 5}, 0});
    add(list, "of-nothing", {{0, 5}, 2});
    add(list, "none-of-none", {{3, 0}, 0});
    add(list, "40-of-5003", {{1, 5003}, 40});
    add(list, "all-equal", {{3, 67}, 4, -1, DType::f32, {2, 2}});
    add(list, "far-apart", {{2, 9}, 4, -1, DType::i64, {-1, 1, {0x1p40, 0x1p40 + 1, -0x1p40, 0x1p32, -0x1p32, 1}}});
    for (const Source source : {Source::weight, Source::constant, Source::transposed, Source::strided})
        add(list, name_of(source), {{5, 7}, 3, 0, DType::f32, ordered_values(DType::f32), source});
    // One of the results is read on, by its positions.
    list.add("values-alone", [](CaseBuilder& b) { b.result(b.add_all(Op::top_k, {b.input({3, 17})}, {{Attr::k, 4}})[0]); });
    list.add("positions-alone", [](CaseBuilder& b) {
        b.result(b.add_all(Op::top_k, {b.input({3, 17})}, {{Attr::k, 4}})[1]);
    });
    list.add("as-a-gather-reads-it", [](CaseBuilder& b) {
        const TensorId x = b.input({17});
        b.result(b.add(Op::gather, {b.input({17, 5}), b.add_all(Op::top_k, {x}, {{Attr::k, 4}})[1]}));
    });
}

}  // namespace

constinit const OpConformance conformance_top_k{cases, bounds::exact};

}  // namespace backplane::graph::conformance::top_k
