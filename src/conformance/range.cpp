// Range is a product and a sum, each rounded. The scale is the sum of magnitudes.
#include "conformance/bounds.hpp"
#include "conformance/support.hpp"

namespace backplane::graph::conformance::range {

namespace {

std::vector<double> bound(const BoundCall& call) { return bounds::sum(call, 2); }

void add(CaseList& list, const std::string& name, DType dtype, double start, double delta, int64_t count,
         Source source = Source::input) {
    list.add(name + "-" + name_of(dtype), [=](CaseBuilder& b) {
        const TensorId from = b.operand(source, dtype, {}, {0, 1, {start}});
        b.result(b.add(Op::range, {from, b.operand(source, dtype, {}, {0, 1, {delta}})}, {{Attr::count, count}}));
    });
}

void cases(CaseList& list) {
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f64, DType::i32, DType::i64}) {
        add(list, "nothing", dtype, 3, 1, 0);
        add(list, "one", dtype, 3, 1, 1);
        add(list, "counting", dtype, 0, 1, 17);
        add(list, "down", dtype, 5, -3, 67);
        add(list, "standing", dtype, -2, 0, 5);
    }
    for (const DType dtype : {DType::f32, DType::f64}) add(list, "fractions", dtype, -1.5, 0.1, 1009);
    for (const DType dtype : {DType::i32, DType::i64}) add(list, "wraps", dtype, 2147483000.0, 1000003, 4099);
    add(list, "wide", DType::i64, 0x1p40, -0x1p31 - 1, 1009);
    for (const Source source : {Source::weight, Source::constant}) add(list, name_of(source), DType::f32, 1, 2, 33, source);
}

}  // namespace

constinit const OpConformance conformance_range{cases, bound};

}  // namespace backplane::graph::conformance::range
