// Cast rounds in one way only: exact. Blocks decode to float32, once rounded where a least is taken off.
#include <utility>

#include "conformance/moves.hpp"

namespace backplane::graph::conformance::cast {

namespace {

std::vector<Attribute> to(DType dtype) { return {{Attr::to, static_cast<int64_t>(dtype)}}; }

// What lies at the edges of some type, ties of every rounding, and what saturates.
Values edges(DType from) {
    Values values = usual_values(from);
    if (is_float(from)) {
        values = {
            -300, 300, {0.0,   -0.0,  0.5,     -0.5,      1.5,         2.5,           127.5,         -128.5,           255.5,
                        1e9,   -1e9,  kNaN,    kInfinity, -kInfinity,  1.0 + 0x1p-11, 1.0 + 0x1p-8,  1.0 + 3 * 0x1p-8, 65504,
                        65519, 65520, 0x1p-24, 0x1p-25,   3 * 0x1p-25, 2147483648.0,  -2147483648.0, 4294967296.0,     1e19,
                        -1e19}};
    } else if (from != DType::boolean) {
        values.first = {0,     1,  127,  128,  255,    32767,         65535, 2147483647.0, 16777217.0,
                        65519, -1, -128, -129, -32769, -2147483648.0, 2049,  257};
    }
    return values;
}

void add(CaseList& list, const std::string& name, DType from, DType target, const Shape& shape,
         Source source = Source::input) {
    list.add(name,
             [=](CaseBuilder& b) { b.result(b.add(Op::cast, {b.operand(source, from, shape, edges(from))}, to(target))); });
}

void cases(CaseList& list) {
    for (const DType from : kPlain)
        for (const DType target : kPlain)
            add(list, std::string(name_of(from)) + "-to-" + name_of(target), from, target, {101});
    for (const DType from : kBlocks) {
        for (const DType target : {DType::f32, DType::f16, DType::bf16})
            for (const Source source : {Source::weight, Source::input, Source::constant})
                list.add(std::string(name_of(from)) + "-to-" + name_of(target) + "-" + name_of(source), [=](CaseBuilder& b) {
                    // From 3 on no scale is a number below the smallest normal f16.
                    b.result(b.add(Op::cast, {b.operand(source, from, {3, 2 * block_of(from)}, {-3, 3})}, to(target)));
                });
        // Factors at both ends of f16; more blocks than a step of any kernel takes at a time.
        for (const double most : {1e-4, 1e9})
            list.add(std::string(name_of(from)) + (most > 1 ? "-huge" : "-tiny"), [=](CaseBuilder& b) {
                b.result(b.add(Op::cast, {b.operand(Source::weight, from, {37, 3 * block_of(from)}, {-most, most})},
                               to(DType::f32)));
            });
    }
    for (const auto& [from, target] :
         {DTypes{DType::f32, DType::f16}, DTypes{DType::f16, DType::f32}, DTypes{DType::u8, DType::f32},
          DTypes{DType::f32, DType::u8}, DTypes{DType::f32, DType::i32}, DTypes{DType::bf16, DType::f32}}) {
        const std::string what = std::string("-") + name_of(from) + "-to-" + name_of(target);
        add(list, "scalar" + what, from, target, {});
        add(list, "none" + what, from, target, {3, 0});
        add(list, "feature-map" + what, from, target, {1, 17, 5, 7});
        add(list, "rank-8" + what, from, target, {2, 1, 3, 1, 2, 1, 2, 3});
        add(list, "transposed" + what, from, target, {3, 5, 7}, Source::transposed);
        add(list, "strided" + what, from, target, {3, 5, 7}, Source::strided);
        add(list, "weight" + what, from, target, {3, 5, 7}, Source::weight);
        add(list, "constant" + what, from, target, {3, 5, 7}, Source::constant);
    }
}

// Between floats an error travels; a whole number may jump by it, so those take exact inputs.
std::vector<double> bound(const BoundCall& call) {
    if (!is_float(call.output.dtype)) {
        bounds::require_exact_inputs(call);
        return {};
    }
    return call.errors[0] != nullptr ? call.errors[0]->data : std::vector<double>{};
}

}  // namespace

constinit const OpConformance conformance_cast{cases, bound};

}  // namespace backplane::graph::conformance::cast
