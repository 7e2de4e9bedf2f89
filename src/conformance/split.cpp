// Split moves elements: exact, and the same bytes.
#include "conformance/moves.hpp"

namespace backplane::graph::conformance::split {

namespace {

using List = std::vector<int64_t>;

struct SplitCase {
    std::string name;
    Shape shape;
    int64_t axis;
    List sizes;
};

void add_split(CaseList& list, const std::string& name, const SplitCase& c, Source source, DType dtype) {
    list.add(name, [=](CaseBuilder& b) {
        for (const TensorId part : b.add_all(Op::split, {b.operand(source, dtype, c.shape, moved_values(dtype))},
                                             {{Attr::axis, c.axis}, {Attr::sizes, c.sizes}}))
            b.result(part);
    });
}

void cases(CaseList& list) {
    const SplitCase usual{"three-3x7x5", {3, 7, 5}, 1, {2, 1, 4}};
    for (const DType dtype : kPlain) add_split(list, usual.name + "-" + name_of(dtype), usual, Source::input, dtype);
    for (const Source source : {Source::weight, Source::constant, Source::transposed, Source::strided})
        for (const DType dtype : {DType::f32, DType::f16, DType::u8})
            add_split(list, std::string(name_of(source)) + "-" + name_of(dtype), usual, source, dtype);
    for (const SplitCase& c :
         {SplitCase{"whole", {5, 3}, 0, {5}}, SplitCase{"first-axis", {101, 13}, 0, {50, 51}},
          SplitCase{"last-axis", {2, 3, 300}, -1, {100, 100, 100}}, SplitCase{"heads", {2, 6, 11, 8}, 1, {1, 1, 1, 1, 1, 1}},
          SplitCase{"a-part-of-nothing", {4, 6}, 1, {2, 0, 4}}, SplitCase{"of-nothing", {0, 6}, 1, {2, 4}},
          SplitCase{"sixteen", {16, 3}, 0, List(16, 1)}})
        add_split(list, c.name, c, Source::input, DType::f32);
    // What projects queries, keys and values at once.
    list.add("of-a-product-and-on", [](CaseBuilder& b) {
        const TensorId all = b.add(Op::matmul, {b.input(DType::f32, {5, 8}), b.weight(DType::f32, {8, 24})});
        const std::vector<TensorId> part = b.add_all(Op::split, {all}, {{Attr::axis, -1}, {Attr::sizes, List{8, 8, 8}}});
        b.result(b.add(Op::mul, {b.add(Op::relu, {part[0]}), part[1]}));
        b.result(part[2]);
    });
    // Gated linear units, which backends may do at once: either half may be the gate, along any axis, and be read elsewhere.
    for (const auto& [gate, word] :
         {std::pair{Op::sigmoid, "glu"}, {Op::silu, "swiglu"}, {Op::gelu, "geglu"}, {Op::relu, "reglu"}})
        for (const size_t half : {0, 1})
            list.add(std::string(word) + (half == 0 ? "-first" : "-second"), [gate = gate, half](CaseBuilder& b) {
                const std::vector<TensorId> part = b.add_all(Op::split, {b.input(DType::f32, {7, 3, 110})},
                                                             {{Attr::axis, -1}, {Attr::sizes, List{55, 55}}});
                b.result(b.add(Op::mul, {b.add(gate, {part[half]}), part[1 - half]}));
            });
    for (const DType dtype : kFloats)
        list.add(std::string("glu-of-channels-") + name_of(dtype), [dtype](CaseBuilder& b) {
            const TensorId x = b.add(Op::conv, {b.input(dtype, {2, 5, 4, 3}), b.weight(dtype, {34, 5, 1, 1})});
            const std::vector<TensorId> part = b.add_all(Op::split, {x}, {{Attr::axis, 1}, {Attr::sizes, List{17, 17}}});
            b.result(b.add(Op::mul, {part[0], b.add(Op::sigmoid, {part[1]})}));
        });
    list.add("glu-whose-parts-are-read-elsewhere", [](CaseBuilder& b) {
        const std::vector<TensorId> part =
            b.add_all(Op::split, {b.input(DType::f32, {6, 4})}, {{Attr::axis, int64_t{0}}, {Attr::sizes, List{3, 3}}});
        const TensorId gate = b.add(Op::sigmoid, {part[1]});
        b.result(b.add(Op::mul, {part[0], gate}));
        b.result(b.add(Op::neg, {gate}));
        b.result(b.add(Op::neg, {part[0]}));
    });
    list.add("no-glu-of-thirds-or-steps", [](CaseBuilder& b) {
        const TensorId x = b.input(DType::f32, {6, 9});
        const auto part = [&](List starts, List ends, List steps) {
            return b.add(Op::slice, {x}, {{Attr::starts, starts}, {Attr::ends, ends}, {Attr::steps, steps}});
        };
        const auto glu = [&](TensorId a, TensorId g) { b.result(b.add(Op::mul, {a, b.add(Op::sigmoid, {g})})); };
        const auto third = b.add_all(Op::split, {x}, {{Attr::axis, 1}, {Attr::sizes, List{3, 3, 3}}});
        glu(third[0], third[2]);
        glu(part({0, 0}, {6, 9}, {2, 1}), part({1, 0}, {6, 9}, {2, 1}));
        glu(part({0, 0}, {3, 9}, {1, 1}), part({0, 0}, {3, 9}, {1, 1}));
    });
    list.add("with-a-part-that-nobody-reads", [](CaseBuilder& b) {
        const std::vector<TensorId> part =
            b.add_all(Op::split, {b.input(DType::f32, {6, 4})}, {{Attr::axis, int64_t{0}}, {Attr::sizes, List{1, 2, 3}}});
        b.result(b.add(Op::neg, {part[1]}));
    });
}

}  // namespace

constinit const OpConformance conformance_split{cases, bounds::moves, true};

}  // namespace backplane::graph::conformance::split
