// Attention: a score loses the units of its sum of products, which its exponential makes relative; the sums over keys lose their own. All
// relative to the sum of p |v|, which is the op on the magnitudes of v. In f16 the exponentials may be rounded to f16 before they meet v, as
// matrix units take them (twice: the sums that divide are of the rounded ones); below 2^-14 they lose 2^-25 of what the largest is.
#include <algorithm>
#include <cmath>

#include "conformance/bounds.hpp"
#include "conformance/support.hpp"
#include "graph/evaluate.hpp"

namespace backplane::graph::conformance::attention {

namespace {

std::vector<double> bound(const BoundCall& call) {
    bounds::require_exact_inputs(call);
    const ReferenceTensor& q = *call.inputs[0];
    const ReferenceTensor& k = *call.inputs[1];
    const auto size = static_cast<double>(q.shape[3]);
    const AttributeView attributes(call.attributes);
    const double scale =
        backplane::ops::AttentionAttributes{false, 0, attributes.number(Attr::scale), 0}.scale_of(q.shape[3]);
    // No score is larger than this, softcap makes it smaller; differences of two, and of a mask with what it is added to, are rounded.
    const double most = std::fabs(scale) * size * bounds::most_of(q) * bounds::most_of(k);
    const double added = call.inputs.size() > 3 && call.inputs[3] != nullptr ? bounds::most_of(*call.inputs[3]) : 0;
    const double score = (bounds::units_of_sum(size) + 4) * most + 2 * added;
    const double units = 2 * score + bounds::units_of_sum(static_cast<double>(k.shape[2])) + 8;
    ReferenceTensor magnitudes = *call.inputs[2];
    for (double& v : magnitudes.data) v = std::fabs(v);
    std::vector<const ReferenceTensor*> inputs(call.inputs.begin(), call.inputs.end());
    inputs[2] = &magnitudes;
    std::vector<double> result = std::move(evaluate_node(call.definition, inputs, call.attributes, call.outputs)[0].data);
    const bool rounded = call.output.dtype == DType::f16 && !call.strict;
    const double lost = rounded ? static_cast<double>(k.shape[2]) * 0x1p-25 * bounds::most_of(magnitudes) : 0;
    for (double& r : result) r = r * (units * call.unit + (rounded ? 2 * 0x1p-11 : 0)) + lost;
    return result;
}

struct Heads {
    int64_t batch = 1, heads = 2, queries = 5, size = 16;
    int64_t shared = 2, keys = 7, width = 16;
    DType dtype = DType::f32;
    Shape mask = {};
    DType mask_dtype = DType::f32;
    std::vector<double> lengths = {};
    std::vector<Attribute> attributes = {};
    Source source = Source::input;
    Values values = {-1, 1, {}};
};

void add(CaseList& list, const std::string& name, const Heads& c) {
    list.add(name, [c](CaseBuilder& b) {
        std::vector<TensorId> operands{b.operand(c.source, c.dtype, {c.batch, c.heads, c.queries, c.size}, c.values),
                                       b.operand(c.source, c.dtype, {c.batch, c.shared, c.keys, c.size}, c.values),
                                       b.operand(c.source, c.dtype, {c.batch, c.shared, c.keys, c.width})};
        if (!c.mask.empty() || !c.lengths.empty())
            operands.push_back(c.mask.empty() ? TensorId{} : b.operand(c.source, c.mask_dtype, c.mask));
        if (!c.lengths.empty()) operands.push_back(b.input(DType::i64, {c.batch}, {0, 0, c.lengths}));
        b.result(b.add(Op::attention, operands, c.attributes));
    });
}

// A mask that leaves nothing of one row, and one key of another.
void rows_that_see_nothing(CaseList& list) {
    list.add("rows-that-see-nothing", [](CaseBuilder& b) {
        const TensorId q = b.input({1, 1, 3, 8}), k = b.input({1, 1, 4, 8}), v = b.input({1, 1, 4, 8});
        const TensorId mask = b.input(DType::boolean, {3, 4}, {0, 0, {1, 1, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0}});
        b.result(b.add(Op::attention, {q, k, v, mask}));
    });
    list.add("minus-infinity", [](CaseBuilder& b) {
        const TensorId q = b.input({1, 1, 3, 8}), k = b.input({1, 1, 4, 8}), v = b.input({1, 1, 4, 8});
        const double no = -kInfinity;
        const TensorId mask = b.input(DType::f32, {3, 4}, {0, 0, {0, 0, no, 1, no, no, no, no, no, no, 0.5, no}});
        b.result(b.add(Op::attention, {q, k, v, mask}));
    });
}

void shapes(CaseList& list) {
    add(list, "one", {1, 1, 1, 1, 1, 1, 1});
    add(list, "one-key", {1, 2, 3, 4, 2, 1, 4});
    add(list, "one-query", {2, 4, 1, 64, 4, 33, 64});
    add(list, "no-keys", {1, 2, 3, 4, 2, 0, 4});
    add(list, "no-queries", {1, 2, 0, 4, 2, 5, 4});
    add(list, "no-numbers", {1, 2, 3, 0, 2, 5, 4});
    add(list, "no-width", {1, 2, 3, 4, 2, 5, 0});
    add(list, "no-batch", {0, 2, 3, 4, 2, 5, 4});
    add(list, "no-heads", {1, 0, 3, 4, 0, 5, 4});
    for (const int64_t size : {3, 17, 40, 64, 80, 128, 257})
        add(list, "size-" + std::to_string(size), {1, 2, 19, size, 2, 67, size});
    add(list, "width-alone", {1, 2, 9, 24, 2, 31, 56});
    add(list, "grouped", {2, 6, 7, 16, 2, 29, 16});
    add(list, "one-for-all", {1, 8, 3, 32, 1, 65, 32});
    add(list, "long", {1, 1, 131, 64, 1, 1031, 64});
    add(list, "many-keys", {1, 2, 2, 16, 1, 4099, 16});
    for (const DType dtype : {DType::f16, DType::bf16, DType::f64}) {
        const std::string type = std::string("-") + backplane::name_of(dtype);
        add(list, "type" + type, {2, 2, 17, 64, 2, 70, 64, dtype});
        add(list, "type-masked" + type, {2, 2, 17, 32, 1, 70, 32, dtype, {2, 1, 17, 70}, dtype});
    }
    for (const Source source : {Source::weight, Source::constant, Source::transposed, Source::strided})
        add(list, graph::name_of(source), {1, 2, 9, 16, 2, 21, 16, DType::f32, {9, 21}, DType::f32, {}, {}, source});
}

void masks(CaseList& list) {
    for (const DType dtype : {DType::f32, DType::f16, DType::boolean})
        for (const Shape& mask :
             {Shape{2, 4, 9, 21}, Shape{2, 1, 1, 21}, Shape{1, 4, 9, 1}, Shape{9, 21}, Shape{21}, Shape{1}})
            add(list, std::string("mask-") + backplane::name_of(dtype) + "-" + text_of(mask),
                {2, 4, 9, 16, 2, 21, 16, DType::f32, mask, dtype});
    rows_that_see_nothing(list);
    const Attribute causal{Attr::causal, 1};
    add(list, "causal", {1, 2, 21, 16, 2, 21, 16, DType::f32, {}, DType::f32, {}, {causal}});
    add(list, "causal-behind-a-past", {1, 2, 5, 16, 2, 133, 16, DType::f32, {}, DType::f32, {}, {causal}});
    add(list, "causal-more-queries-than-keys", {1, 2, 21, 16, 2, 5, 16, DType::f32, {}, DType::f32, {}, {causal}});
    add(list, "causal-masked", {2, 2, 70, 16, 1, 70, 16, DType::f32, {70, 70}, DType::boolean, {}, {causal}});
    for (const int64_t window : {1, 4, 1000}) {
        const std::string name = "window-" + std::to_string(window);
        add(list, name, {1, 2, 70, 16, 2, 70, 16, DType::f32, {}, DType::f32, {}, {{Attr::window, window}}});
        add(list, name + "-causal",
            {1, 2, 70, 16, 2, 133, 16, DType::f32, {}, DType::f32, {}, {causal, {Attr::window, window}}});
    }
    const std::vector<double> lengths{0, 1, 130, 133, -5, 1e9};
    add(list, "lengths", {6, 2, 3, 16, 1, 133, 16, DType::f32, {}, DType::f32, lengths});
    add(list, "lengths-causal", {6, 2, 3, 16, 2, 133, 16, DType::f32, {}, DType::f32, lengths, {causal}});
    add(list, "lengths-masked", {6, 2, 3, 16, 2, 133, 16, DType::f16, {6, 1, 1, 133}, DType::boolean, lengths});
    add(list, "one-query-lengths", {6, 4, 1, 64, 2, 133, 64, DType::f32, {}, DType::f32, lengths, {causal}});
    add(list, "scale", {1, 2, 9, 16, 2, 21, 16, DType::f32, {}, DType::f32, {}, {{Attr::scale, 0.03125}}});
    add(list, "scale-below-0", {1, 2, 9, 16, 2, 21, 16, DType::f32, {}, DType::f32, {}, {{Attr::scale, -1.0}}});
    add(list, "softcap", {1, 2, 9, 16, 2, 21, 16, DType::f32, {21}, DType::f32, {}, {{Attr::softcap, 0.5}}});
    add(list, "large-scores",
        {1, 2, 9, 16, 2, 21, 16, DType::f32, {}, DType::f32, {}, {{Attr::scale, 1.0}}, Source::input, {-8, 8, {}}});
}

// Halves, of sizes that kernels for matrix units take: whole tiles and what is left of them.
void halves(CaseList& list) {
    const auto half = [&](const std::string& name, int64_t queries, int64_t keys,
                          const std::vector<Attribute>& attributes = {}, const Shape& mask = {},
                          DType mask_dtype = DType::boolean) {
        add(list, "half-" + name, {2, 4, queries, 32, 2, keys, 48, DType::f16, mask, mask_dtype, {}, attributes});
    };
    const Attribute causal{Attr::causal, 1};
    const Attribute window{Attr::window, 20};
    half("whole", 128, 128);
    half("tiles", 70, 150);
    half("few-rows", 17, 64);
    half("causal", 150, 150, {causal});
    half("causal-behind-a-past", 40, 200, {causal});
    half("window", 150, 150, {window});
    half("window-causal", 70, 200, {causal, window});
    half("mask-bool", 70, 150, {}, {70, 150});
    half("mask-bool-of-heads", 70, 150, {causal}, {1, 4, 1, 150});
    half("mask-f16", 70, 150, {}, {2, 1, 70, 150}, DType::f16);
    half("mask-f32", 70, 150, {}, {70, 150}, DType::f32);
    half("softcap", 70, 150, {{Attr::softcap, 0.5}});
    half("scale-below-0", 70, 150, {{Attr::scale, -1.0}});
    const std::vector<double> lengths{0, 1, 130, 150, -5, 1e9};
    add(list, "half-lengths", {6, 2, 40, 32, 1, 150, 32, DType::f16, {}, DType::f32, lengths});
    add(list, "half-lengths-causal", {6, 2, 40, 32, 1, 150, 32, DType::f16, {}, DType::f32, lengths, {causal}});
    for (const int64_t size : {16, 80, 128, 256})
        add(list, "half-size-" + std::to_string(size), {1, 2, 65, size, 1, 130, size, DType::f16});
    add(list, "half-large-scores",
        {1, 2, 65, 32, 1, 130, 32, DType::f16, {}, DType::f32, {}, {{Attr::scale, 1.0}}, Source::input, {-8, 8, {}}});
}

void cases(CaseList& list) {
    shapes(list);
    masks(list);
    halves(list);
}

}  // namespace

constinit const OpConformance conformance_attention{cases, bound};

}  // namespace backplane::graph::conformance::attention
