// RotaryEmbedding: two products and their sum; relative to what may cancel, the op on magnitudes with the sign of the difference turned.
#include <algorithm>
#include <cmath>

#include "conformance/bounds.hpp"
#include "conformance/support.hpp"

namespace backplane::graph::conformance::rotary_embedding {

namespace {

std::vector<double> bound(const BoundCall& call) {
    bounds::require_exact_inputs(call);
    // Both products of an element are at most this.
    const double most =
        bounds::most_of(*call.inputs[0]) * std::max(bounds::most_of(*call.inputs[1]), bounds::most_of(*call.inputs[2]));
    return std::vector<double>(call.output.data.size(), 4 * call.unit * most);
}

struct Turn {
    Shape x;
    int64_t rows = 0;  // of cos and sin; 0: a row for each token
    std::vector<double> positions = {};
    DType dtype = DType::f32;
    std::vector<Attribute> attributes = {};
    DType position_dtype = DType::i64;
    Source source = Source::input;
};

void add(CaseList& list, const std::string& name, const Turn& c) {
    list.add(name, [c](CaseBuilder& b) {
        int64_t heads = 1, rotated = 0;
        for (const Attribute& a : c.attributes) {
            if (a.id == Attr::num_heads) heads = std::get<int64_t>(a.value);
            if (a.id == Attr::rotary_embedding_dim) rotated = std::get<int64_t>(a.value);
        }
        const int64_t tokens = c.x[c.x.size() - 2];
        if (rotated == 0) rotated = c.x.back() / heads;
        const Shape table = c.rows != 0 ? Shape{c.rows, rotated / 2} : Shape{c.x[0], tokens, rotated / 2};
        std::vector<TensorId> operands{b.operand(c.source, c.dtype, c.x), b.operand(c.source, c.dtype, table),
                                       b.operand(c.source, c.dtype, table)};
        if (c.rows != 0)
            operands.push_back(
                b.input(c.position_dtype, {c.x[0], tokens}, {0, static_cast<double>(c.rows - 1), c.positions}));
        b.result(b.add(Op::rotary_embedding, operands, c.attributes));
    });
}

void cases(CaseList& list) {
    const Attribute interleaved{Attr::interleaved, 1};
    add(list, "one", {{1, 1, 1, 2}});
    add(list, "one-interleaved", {{1, 1, 1, 2}, 0, {}, DType::f32, {interleaved}});
    add(list, "no-tokens", {{2, 3, 0, 8}});
    add(list, "no-numbers", {{2, 3, 4, 0}});
    add(list, "no-batch", {{0, 3, 4, 8}});
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f64})
        for (const bool pairs : {false, true}) {
            const std::string name = std::string(name_of(dtype)) + (pairs ? "-interleaved" : "");
            std::vector<Attribute> how;
            if (pairs) how.push_back(interleaved);
            add(list, name, {{2, 3, 7, 22}, 0, {}, dtype, how});
            add(list, name + "-positions", {{2, 3, 7, 64}, 33, {0, 32, 5}, dtype, how});
            how.push_back({Attr::rotary_embedding_dim, 6});
            add(list, name + "-partly", {{2, 3, 7, 22}, 0, {}, dtype, how});
            how.push_back({Attr::num_heads, 5});
            add(list, name + "-heads-last", {{2, 7, 50}, 9, {8, 0}, dtype, how, DType::i32});
        }
    add(list, "none-rotated", {{2, 3, 7, 5}, 0, {}, DType::f32, {{Attr::rotary_embedding_dim, 4}}});
    add(list, "heads-last", {{2, 7, 48}, 0, {}, DType::f32, {{Attr::num_heads, 3}}});
    add(list, "large", {{1, 8, 257, 128}, 4096, {4095}, DType::f16});
    for (const Source source : {Source::weight, Source::constant, Source::transposed, Source::strided})
        add(list, graph::name_of(source), {{2, 3, 7, 16}, 0, {}, DType::f32, {}, DType::i64, source});
}

}  // namespace

constinit const OpConformance conformance_rotary_embedding{cases, bound};

}  // namespace backplane::graph::conformance::rotary_embedding
