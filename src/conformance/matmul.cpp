// MatMul: the scale of each element is its sum of magnitudes of products, so that cancellation is fair.
#include "conformance/bounds.hpp"
#include "conformance/support.hpp"

namespace backplane::graph::conformance::matmul {

namespace {

std::vector<double> bound(const BoundCall& call) {
    const Shape& a = call.inputs[0]->shape;
    const bool transposed = AttributeView(call.attributes).integer(Attr::transpose_a) == 1;
    return bounds::sum(call, static_cast<double>(a[a.size() - (transposed ? 2 : 1)]));
}

using enum Source;

struct Product {
    Shape a, b;
    bool transpose_a = false, transpose_b = false;
    DType a_type = DType::f32, b_type = DType::f32;
    Source a_source = input, b_source = weight;
};

TensorId product(CaseBuilder& b, const Product& p) {
    const TensorId left = b.operand(p.a_source, p.a_type, p.a);
    const TensorId right = b.operand(p.b_source, p.b_type, p.b);
    return b.add(Op::matmul, {left, right},
                 {{Attr::transpose_a, p.transpose_a ? 1 : 0}, {Attr::transpose_b, p.transpose_b ? 1 : 0}});
}

void add(CaseList& list, const std::string& name, const Product& p) {
    list.add(name, [p](CaseBuilder& b) { b.result(product(b, p)); });
}

std::string name_of(int64_t m, int64_t k, int64_t n) {
    return std::to_string(m) + "x" + std::to_string(k) + "x" + std::to_string(n);
}

// a [M, K] by b [K, N] in every orientation and from every source.
void plain(CaseList& list) {
    const int64_t sizes[][3] = {{1, 1, 1},    {1, 17, 1},   {1, 64, 64}, {1, 129, 67}, {2, 3, 5},    {7, 1, 11},
                                {16, 16, 16}, {17, 19, 23}, {5, 101, 3}, {33, 7, 65},  {67, 129, 1}, {1, 1009, 3},
                                {64, 32, 48}, {0, 3, 5},    {3, 0, 5},   {3, 5, 0}};
    for (const auto& [m, k, n] : sizes)
        for (int way = 0; way < 4; ++way) {
            const bool ta = (way & 1) != 0, tb = (way & 2) != 0;
            const Shape a = ta ? Shape{k, m} : Shape{m, k}, b = tb ? Shape{n, k} : Shape{k, n};
            const std::string name = name_of(m, k, n) + (ta ? "-ta" : "") + (tb ? "-tb" : "");
            add(list, name, {a, b, ta, tb});
            add(list, name + "-inputs", {a, b, ta, tb, DType::f32, DType::f32, input, input});
        }
    for (const Source a : {input, weight, constant, transposed, strided})
        for (const Source b : {input, weight, constant, transposed, strided})
            add(list, std::string(graph::name_of(a)) + "-" + graph::name_of(b),
                {{7, 19}, {19, 13}, false, false, DType::f32, DType::f32, a, b});
}

void batched(CaseList& list) {
    const std::pair<Shape, Shape> shapes[] = {
        {{2, 5, 7}, {2, 7, 3}},
        {{2, 5, 7}, {7, 3}},
        {{5, 7}, {2, 7, 3}},
        {{2, 5, 7}, {1, 7, 3}},
        {{1, 5, 7}, {3, 7, 2}},
        {{2, 3, 5, 7}, {3, 7, 4}},
        {{2, 1, 5, 7}, {1, 3, 7, 4}},
        {{2, 3, 1, 7}, {2, 3, 7, 1}},
        {{1, 4, 9, 8}, {1, 4, 8, 9}},
        {{0, 5, 7}, {7, 3}},
        {{2, 1, 2, 1, 1, 2, 3, 5}, {2, 1, 2, 1, 1, 5, 2}},
    };
    for (const auto& [a, b] : shapes) {
        const std::string name = "batch-" + text_of(a) + "-" + text_of(b);
        add(list, name, {a, b, false, false, DType::f32, DType::f32, input, input});
        add(list, name + "-weight", {a, b});
    }
    const Shape q{2, 4, 9, 16};
    for (const DType dtype : kFloats) {
        const std::string type = std::string("-") + backplane::name_of(dtype);
        add(list, "attention-scores" + type, {q, q, false, true, dtype, dtype, input, input});
        add(list, "batch-of-rows" + type, {{2, 4, 1, 144}, {2, 1, 9, 144}, false, true, dtype, dtype, input, input});
        add(list, "batch-ta-tb" + type, {{2, 7, 5}, {2, 3, 7}, true, true, dtype, dtype, input, input});
        add(list, "batch-transposed" + type, {{3, 5, 7}, {3, 7, 2}, false, false, dtype, dtype, transposed, transposed});
    }
}

void typed(CaseList& list) {
    const int64_t sizes[][3] = {{1, 64, 33}, {5, 96, 7},    {17, 32, 64}, {1, 1, 1},    {3, 19, 23}, {1, 1184, 33},
                                {5, 160, 7}, {3, 1280, 21}, {2, 133, 9},  {1, 512, 33}, {9, 256, 67}};
    for (const auto& [m, k, n] : sizes) {
        for (const DType dtype : {DType::f16, DType::bf16})
            for (const bool tb : {false, true}) {
                const Shape b = tb ? Shape{n, k} : Shape{k, n};
                const std::string name = name_of(m, k, n) + (tb ? "-tb-" : "-") + backplane::name_of(dtype);
                add(list, name, {{m, k}, b, false, tb, dtype, dtype});
                add(list, name + "-under-f32", {{m, k}, b, false, tb, DType::f32, dtype});
                add(list, name + "-under-f32-constant", {{m, k}, b, false, tb, DType::f32, dtype, input, constant});
            }
        for (const DType dtype : kBlocks)
            for (const Source source : {weight, constant, input})
                if (k % block_of(dtype) == 0)
                    add(list, name_of(m, k, n) + "-" + backplane::name_of(dtype) + "-" + graph::name_of(source),
                        {{m, k}, {n, k}, false, true, DType::f32, dtype, input, source});
    }
    // Rows of whole eights of halves, and no whole tiles of the kernels that want them.
    for (const auto& [m, k, n] : {std::array<int64_t, 3>{40, 72, 24}, {136, 104, 144}})
        for (const bool ta : {false, true})
            for (const bool tb : {false, true})
                if (m < 100 ? ta != tb
                            : !ta && !tb)  // each orientation of a large product is a kernel that takes long to build
                    add(list, name_of(m, k, n) + (ta ? "-ta" : "") + (tb ? "-tb" : "") + "-f16-eights",
                        {ta ? Shape{k, m} : Shape{m, k}, tb ? Shape{n, k} : Shape{k, n}, ta, tb, DType::f16, DType::f16});
    add(list, "batch-f16-eights", {{2, 3, 24, 40}, {3, 40, 16}, false, false, DType::f16, DType::f16, input, input});
    // Few tiles and much depth, which several workgroups share on some devices: how is by rows and columns where tests ask for each way.
    for (int64_t n = 8; n <= 56; n += 8)
        add(list, name_of(128, 2048, n) + "-f16-deep", {{128, 2048}, {2048, n}, false, false, DType::f16, DType::f16});
    // The same of floats in fours.
    add(list, "132x200x76-fours", {{132, 200}, {200, 76}});
    add(list, "68x72x68-ta-fours", {{72, 68}, {72, 68}, true, false});
    add(list, "68x72x68-tb-fours", {{68, 72}, {68, 72}, false, true});
    add(list, "batch-of-many-fours", {{20, 3, 36, 60}, {3, 36, 60}, false, true, DType::f32, DType::f32, input, input});
    add(list, "batch-fours", {{2, 3, 44, 1036}, {3, 36, 1036}, false, true, DType::f32, DType::f32, input, input});
}

// Operands of f64: each orientation, nothing, matrices that repeat, and what follows a product of floats.
void doubles(CaseList& list) {
    constexpr DType f64 = DType::f64;
    const int64_t sizes[][3] = {{5, 7, 3}, {1, 1009, 1}, {67, 33, 1}, {1, 3, 129}, {0, 3, 5}, {3, 0, 5}, {3, 5, 0}};
    for (const auto& [m, k, n] : sizes)
        for (int way = 0; way < 4; ++way) {
            const bool ta = (way & 1) != 0, tb = (way & 2) != 0;
            add(list, name_of(m, k, n) + (ta ? "-ta" : "") + (tb ? "-tb" : "") + "-f64",
                {ta ? Shape{k, m} : Shape{m, k}, tb ? Shape{n, k} : Shape{k, n}, ta, tb, f64, f64});
        }
    for (const Source a : {input, constant, transposed, strided})
        for (const Source b : {input, constant, transposed, strided})
            add(list, std::string(graph::name_of(a)) + "-" + graph::name_of(b) + "-f64",
                {{7, 19}, {19, 13}, false, false, f64, f64, a, b});
    for (const auto& [a, b] :
         {Shapes{{2, 3, 5, 7}, {3, 7, 4}}, Shapes{{2, 1, 5, 7}, {1, 3, 7, 4}}, Shapes{{5, 7}, {2, 7, 3}}})
        for (const bool turned : {false, true}) {
            Shape right = b;
            if (turned) std::swap(right[right.size() - 2], right.back());
            add(list, "batch-" + text_of(a) + "-" + text_of(b) + (turned ? "-tb" : "") + "-f64",
                {a, right, false, turned, f64, f64, input, input});
        }
    for (const Op op : {Op::relu, Op::silu})
        list.add(std::string("bias-") + backplane::name_of(op) + "-f64", [=](CaseBuilder& b) {
            const TensorId y = product(b, {{7, 19}, {19, 13}, false, false, f64, f64});
            b.result(b.add(op, {b.add(Op::add, {y, b.weight(f64, {13})})}));
        });
    list.add("cast-between-f64", [=](CaseBuilder& b) {  // float32, then float64, then float32
        const TensorId y = b.add(Op::cast, {product(b, {{7, 19}, {19, 13}})}, {{Attr::to, BP_F64}});
        const TensorId z = b.add(Op::matmul, {y, b.weight(f64, {13, 5})});
        b.result(b.add(Op::relu, {b.add(Op::cast, {z}, {{Attr::to, BP_F32}})}));
    });
}

// A right-hand side in blocks: one block, one column, no depth, odd columns, more blocks than a workgroup has lanes, rows of both kinds of kernel.
void in_blocks(CaseList& list) {
    for (const DType dtype : kBlocks) {
        const int64_t block = block_of(dtype);
        const std::string type = std::string("-") + backplane::name_of(dtype);
        const int64_t sizes[][3] = {{1, block, 1}, {1, 512, 1}, {2, 0, 3}, {8, 256, 5}, {1, 17 * 256, 3}, {33, 256, 37}};
        for (const auto& [m, k, n] : sizes)
            add(list, name_of(m, k, n) + type, {{m, k}, {n, k}, false, true, DType::f32, dtype});
        add(list, "batch" + type, {{2, 3, 2 * block}, {2, 5, 2 * block}, false, true, DType::f32, dtype});
        add(list, "batch-of-one-matrix" + type, {{3, 1, block}, {1, 7, block}, false, true, DType::f32, dtype});
        add(list, "one-row-turned" + type, {{256, 1}, {3, 256}, true, true, DType::f32, dtype});
        // A constant that two products read, and a weight that somebody reads as it is.
        list.add("constant-twice" + type, [=](CaseBuilder& b) {
            const TensorId w = b.operand(constant, dtype, {256, 256});
            const TensorId y = b.add(Op::matmul, {b.input({3, 256}), w}, {{Attr::transpose_b, 1}});
            b.result(b.add(Op::matmul, {y, w}, {{Attr::transpose_b, 1}}));
        });
        list.add("also-decoded" + type, [=](CaseBuilder& b) {
            const TensorId w = b.operand(weight, dtype, {5, 256});
            b.result(b.add(Op::matmul, {b.input({3, 256}), w}, {{Attr::transpose_b, 1}}));
            b.result(b.add(Op::cast, {w}, {{Attr::to, BP_F32}}));
        });
        // An embedding that is the last layer, too.
        list.add("also-gathered" + type, [=](CaseBuilder& b) {
            const TensorId w = b.operand(weight, dtype, {17, 256});
            const TensorId ids = b.input(DType::i64, {2, 3}, {-1, 1, {0, 16, -1, -17, 5, 5}});
            const TensorId rows = b.add(Op::gather, {w, ids}, {{Attr::axis, 0}});
            b.result(rows);
            b.result(b.add(Op::matmul, {rows, w}, {{Attr::transpose_b, 1}}));
        });
        list.add("also-gathered-in-the-middle" + type, [=](CaseBuilder& b) {
            const TensorId w = b.operand(weight, dtype, {2, 5, 3, 256});
            const TensorId ids = b.input(DType::i32, {2}, {-1, 1, {4, -5}});
            b.result(b.add(Op::gather, {w, ids}, {{Attr::axis, 1}}));
            b.result(b.add(Op::matmul, {b.input({1, 256}), w}, {{Attr::transpose_b, 1}}));
        });
        // What is multiplied begins behind an odd number of rows.
        list.add("behind-a-part" + type, [=](CaseBuilder& b) {
            const TensorId x = b.add(Op::relu, {b.input({2, 256})});
            const TensorId all = b.add(Op::concat, {b.input({1, 256}), x}, {{Attr::axis, 0}});
            b.result(b.add(Op::matmul, {all, b.operand(weight, dtype, {3, 256})}, {{Attr::transpose_b, 1}}));
            b.result(b.add(Op::matmul, {x, b.operand(weight, dtype, {7, 256})}, {{Attr::transpose_b, 1}}));
        });
    }
}

// More rows than a kernel for few holds, of few columns: whole groups and not, with a depth that loads of several elements fit and not.
void rows_in_groups(CaseList& list) {
    const std::array<int64_t, 3> sizes[] = {{9, 264, 3}, {16, 640, 70}, {35, 257, 5}, {128, 300, 6}, {16, 1032, 1}};
    for (const auto& size : sizes)
        for (const DType dtype : kFloats) {
            const int64_t m = size[0], k = size[1], n = size[2];
            list.add("rows-in-groups-" + name_of(m, k, n) + "-" + backplane::name_of(dtype), [=](CaseBuilder& b) {
                const TensorId y = product(b, {{m, k}, {n, k}, false, true, DType::f32, dtype});
                b.result(b.add(Op::relu, {b.add(Op::add, {y, b.weight(DType::f32, {n})})}));
            });
        }
    add(list, "rows-in-groups-batch", {{2, 17, 288}, {2, 5, 288}, false, true, DType::f32, DType::f32, input, input});
}

// What follows a product in a network, which a backend may fuse.
void fused(CaseList& list) {
    for (const Op op : {Op::relu, Op::gelu, Op::silu, Op::sigmoid})
        for (const int64_t depth : {48, 176})
            list.add(std::string("bias-") + backplane::name_of(op) + (depth == 48 ? "" : "-deep"), [=](CaseBuilder& b) {
                const TensorId y = product(b, {{7, depth}, {19, depth}, false, true});
                b.result(b.add(op, {b.add(Op::add, {y, b.weight(DType::f32, {19})})}));
            });
    list.add("residual", [](CaseBuilder& b) {
        const TensorId x = b.input({7, 32});
        const TensorId y = b.add(Op::matmul, {x, b.weight(DType::f32, {32, 32})});
        b.result(b.add(Op::add, {x, y}));
    });
    list.add("gated", [](CaseBuilder& b) {
        const TensorId x = b.input({5, 32});
        const TensorId gate = b.add(Op::silu, {b.add(Op::matmul, {x, b.weight(DType::f32, {32, 48})})});
        const TensorId up = b.add(Op::matmul, {x, b.weight(DType::f32, {32, 48})});
        b.result(b.add(Op::matmul, {b.add(Op::mul, {gate, up}), b.weight(DType::f32, {48, 32})}));
    });
    list.add("one-weight-twice", [](CaseBuilder& b) {
        const TensorId w = b.weight(DType::f32, {32, 32});
        const TensorId y = b.add(Op::matmul, {b.input({7, 32}), w});
        b.result(b.add(Op::matmul, {y, w}, {{Attr::transpose_b, 1}}));
    });
    for (const DType dtype : kBlocks)
        list.add(std::string("one-weight-twice-") + backplane::name_of(dtype), [=](CaseBuilder& b) {
            const int64_t n = block_of(dtype) == 32 ? 160 : 256;
            const TensorId w = b.operand(weight, dtype, {n, n});
            const TensorId y = b.add(Op::matmul, {b.input({3, n}), w}, {{Attr::transpose_b, 1}});
            b.result(b.add(Op::matmul, {y, w}, {{Attr::transpose_b, 1}}));
        });
    list.add("square-of-one-tensor", [](CaseBuilder& b) {
        const TensorId x = b.input({17, 17});
        b.result(b.add(Op::matmul, {x, x}));
    });
    list.add("strict-special", [](CaseBuilder& b) {
        b.strict();
        const TensorId x =
            b.input(DType::f32, {5, 4}, {-1, 1, {kNaN, 0, 0, 0, 1, kInfinity, 1, 1, -kInfinity, 1, 1, kInfinity}});
        b.result(b.add(Op::matmul, {x, b.operand(weight, DType::f32, {4, 7}, {0.5, 1})}));
    });
}

void cases(CaseList& list) {
    plain(list);
    batched(list);
    typed(list);
    doubles(list);
    in_blocks(list);
    rows_in_groups(list);
    fused(list);
}

}  // namespace

constinit const OpConformance conformance_matmul{cases, bound};

}  // namespace backplane::graph::conformance::matmul
