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
    const Shape& q = call.inputs[0]->shape;
    const auto size = static_cast<double>(q[3]);
    const auto keys = static_cast<double>(call.inputs[1]->shape[2]);
    const AttributeView attributes(call.attributes);
    const double scale = backplane::ops::AttentionAttributes{false, 0, attributes.number(Attr::scale), 0}.scale_of(q[3]);
    // No score is larger than this, softcap makes it smaller; sums that products take, differences of two, and of a mask with what it is added to, are rounded.
    const auto most_of = [&](size_t i) {
        return i < call.inputs.size() && call.inputs[i] != nullptr ? bounds::most_of(*call.inputs[i]) : 0;
    };
    const double most =
        std::fabs(scale) * size * ((most_of(0) + most_of(6)) * most_of(1) + (most_of(0) + most_of(7)) * most_of(5));
    const double score = (bounds::units_of_sum(size) + 6) * most + 2 * most_of(3);
    const double units = 2 * score + bounds::units_of_sum(keys) + 8;
    ReferenceTensor magnitudes = *call.inputs[2];
    for (double& v : magnitudes.data) v = std::fabs(v);
    std::vector<const ReferenceTensor*> inputs(call.inputs.begin(), call.inputs.end());
    inputs[2] = &magnitudes;
    std::vector<double> result = std::move(evaluate_node(call.definition, inputs, call.attributes, call.outputs)[0].data);
    const bool rounded = call.output.dtype == DType::f16 && !call.strict;
    const double lost = rounded ? keys * 0x1p-25 * bounds::most_of(magnitudes) : 0;
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
    int64_t distances = 0;  // rows of relative positions; 0: none
    bool biases = true;     // beside them
    bool blocks = false;    // k and v are q8_0
};

void add(CaseList& list, const std::string& name, const Heads& c) {
    list.add(name, [c](CaseBuilder& b) {
        const DType cached = c.blocks ? DType::q8_0 : c.dtype;
        std::vector<TensorId> operands{b.operand(c.source, c.dtype, {c.batch, c.heads, c.queries, c.size}, c.values),
                                       b.operand(c.source, cached, {c.batch, c.shared, c.keys, c.size}, c.values),
                                       b.operand(c.source, cached, {c.batch, c.shared, c.keys, c.width})};
        operands.resize(8);
        if (!c.mask.empty()) operands[3] = b.operand(c.source, c.mask_dtype, c.mask);
        if (!c.lengths.empty()) operands[4] = b.input(DType::i64, {c.batch}, {0, 0, c.lengths});
        if (c.distances != 0) operands[5] = b.operand(c.source, c.dtype, {c.heads, c.distances, c.size}, c.values);
        for (size_t i = 6; i < 8 && c.distances != 0 && c.biases; ++i)
            operands[i] = b.operand(c.source, c.dtype, {c.heads, c.size}, c.values);
        while (!operands.back().valid()) operands.pop_back();
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

// f32, of sizes that kernels for many rows take: whole tiles, what is left of them, and tiles that are seen in part.
void tiles(CaseList& list) {
    const auto tile = [&](const std::string& name, int64_t queries, int64_t keys,
                          const std::vector<Attribute>& attributes = {}, const Shape& mask = {},
                          DType mask_dtype = DType::f32) {
        add(list, "tiles-" + name, {1, 2, queries, 32, 2, keys, 48, DType::f32, mask, mask_dtype, {}, attributes});
    };
    const Attribute causal{Attr::causal, 1};
    const Attribute window{Attr::window, 20};
    tile("whole", 128, 128);
    tile("half", 64, 128);
    tile("part", 70, 150);
    tile("causal", 150, 150, {causal});
    tile("causal-behind-a-past", 70, 200, {causal});
    tile("window", 150, 150, {window});
    tile("window-causal", 70, 200, {causal, window});
    tile("mask-f32", 70, 150, {}, {70, 150});
    tile("mask-bool", 40, 150, {causal}, {1, 2, 1, 150}, DType::boolean);
    tile("softcap", 70, 150, {{Attr::softcap, 0.5}});
    tile("scale-below-0", 70, 150, {{Attr::scale, -1.0}});
    for (const int64_t size : {4, 40, 72, 128})
        add(list, "tiles-size-" + std::to_string(size), {1, 1, 65, size, 1, 130, size});
    // The largest number that there is, and none, which cannot be made of shorter ones.
    list.add("tiles-largest", [](CaseBuilder& b) {
        const TensorId q = b.input({1, 1, 20, 8}), k = b.input({1, 1, 9, 8});
        std::vector<double> first(40, 0.5);
        first[5] = 3.4028234663852886e38;
        first[20] = -kInfinity;
        b.result(b.add(Op::attention, {q, k, b.input(DType::f32, {1, 1, 9, 8}, {-1, 1, first})}));
    });
    // Keys and values that are larger, by far, than those of the tiles before; and one that is larger than all, and is not seen.
    list.add("tiles-growing", [](CaseBuilder& b) {
        const Values grows{-1, 1, std::vector<double>(1100, 0x1p-20)};
        const TensorId q = b.input({1, 1, 20, 8}), k = b.input(DType::f32, {1, 1, 300, 8}, grows);
        b.result(b.add(Op::attention, {q, k, b.input(DType::f32, {1, 1, 300, 8}, grows)}));
    });
    list.add("tiles-one-unseen-that-is-far-larger", [](CaseBuilder& b) {
        const TensorId q = b.input({1, 1, 40, 8}), k = b.input({1, 1, 70, 8});
        const TensorId v = b.input(DType::f32, {1, 1, 70, 8}, {-1, 1, std::vector<double>(8, 0x1p100)});
        b.result(b.add(Op::attention, {q, k, v, b.input(DType::boolean, {70}, {1, 1, {0}})}));
    });
    add(list, "tiles-lengths", {6, 2, 70, 32, 1, 150, 32, DType::f32, {}, DType::f32, {0, 1, 130, 150, -5, 1e9}, {causal}});
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
    for (const int64_t size : {16, 40, 80, 128, 256})
        add(list, "half-size-" + std::to_string(size), {1, 2, 65, size, 1, 130, size, DType::f16});
    add(list, "half-large-scores",
        {1, 2, 65, 32, 1, 130, 32, DType::f16, {}, DType::f32, {}, {{Attr::scale, 1.0}}, Source::input, {-8, 8, {}}});
}

// Heads are parts of one value and are brought to the front, and back behind attention: a backend may read and write them where they lie.
void half_where_heads_lie(CaseList& list) {
    constexpr int64_t kBatch = 2, kTokens = 70, kHeads = 2;
    const std::vector<int64_t> turn{0, 2, 1, 3};
    for (const int64_t size : {36, 40, 64})
        for (const bool relative : {false, true})
            list.add(
                std::string(relative ? "relative-" : "") + "half-of-one-value-" + std::to_string(size), [=](CaseBuilder& b) {
                    const int64_t model = kHeads * size;
                    const TensorId all = b.input(DType::f16, {kBatch, kTokens, 3 * model});
                    std::vector<TensorId> operands;
                    for (int64_t i = 0; i < 3; ++i) {
                        const TensorId part =
                            b.add(Op::slice, {all},
                                  {{Attr::starts, {0, 0, i * model}}, {Attr::ends, {kBatch, kTokens, (i + 1) * model}}});
                        const TensorId heads = b.add(Op::reshape, {part}, {{Attr::shape, {kBatch, kTokens, kHeads, size}}});
                        operands.push_back(b.add(Op::transpose, {heads}, {{Attr::perm, turn}}));
                    }
                    if (relative) {
                        operands.resize(5);
                        operands.push_back(b.input(DType::f16, {kHeads, 2 * kTokens - 1, size}));
                        for (int i = 0; i < 2; ++i) operands.push_back(b.input(DType::f16, {kHeads, size}));
                    }
                    const TensorId y = b.add(Op::transpose, {b.add(Op::attention, operands)}, {{Attr::perm, turn}});
                    b.result(b.add(Op::reshape, {y}, {{Attr::shape, {kBatch, kTokens, model}}}));
                });
}

Heads relative(Heads c, int64_t more_rows = 0) {
    c.distances = 2 * std::max<int64_t>(1, std::max(c.queries, c.keys)) - 1 + more_rows;
    return c;
}

void relative_shapes(CaseList& list) {
    const auto heads = [&](const std::string& name, const Heads& c, int64_t more_rows = 0) {
        add(list, "relative-" + name, relative(c, more_rows));
    };
    heads("one", {1, 1, 1, 1, 1, 1, 1});
    heads("one-key", {1, 2, 3, 4, 2, 1, 4});
    heads("one-query", {2, 4, 1, 64, 4, 33, 64});
    heads("no-keys", {1, 2, 3, 4, 2, 0, 4});
    heads("no-queries", {1, 2, 0, 4, 2, 5, 4});
    heads("no-numbers", {1, 2, 3, 0, 2, 5, 4});
    for (const int64_t tokens : {2, 5, 16, 47, 48, 49, 63, 64, 65, 95, 96, 97, 131})
        heads("tokens-" + std::to_string(tokens), {1, 2, tokens, 24, 2, tokens, 24});
    for (const int64_t size : {3, 17, 64, 257})
        heads("size-" + std::to_string(size), {1, 2, 37, size, 2, 37, std::min<int64_t>(size, 40)});
    heads("past", {1, 2, 19, 16, 2, 133, 16});
    heads("more-queries-than-keys", {1, 2, 133, 16, 2, 19, 16});
    heads("grouped", {2, 6, 21, 16, 2, 21, 16});
    heads("one-for-all", {1, 8, 3, 32, 1, 65, 32});
    heads("long", {1, 1, 263, 16, 1, 1031, 16});
    heads("longer-table", {2, 2, 37, 16, 2, 37, 16}, 100);
    Heads bare = relative({1, 2, 37, 16, 2, 37, 16});
    bare.biases = false;
    add(list, "relative-no-biases", bare);
    for (const DType dtype : {DType::f16, DType::bf16, DType::f64}) {
        const std::string type = std::string("-") + backplane::name_of(dtype);
        heads("type" + type, {2, 2, 70, 64, 2, 70, 64, dtype});
        heads("type-masked" + type, {2, 2, 17, 32, 1, 70, 32, dtype, {2, 1, 17, 70}, dtype});
    }
    for (const Source source : {Source::weight, Source::constant, Source::transposed, Source::strided})
        heads(graph::name_of(source), {1, 2, 21, 16, 2, 21, 16, DType::f32, {}, DType::f32, {}, {}, source});
}

void relative_masks(CaseList& list) {
    const auto heads = [&](const std::string& name, const Heads& c) { add(list, "relative-" + name, relative(c)); };
    const Attribute causal{Attr::causal, 1};
    const Attribute padded{Attr::padded, 1};
    const Attribute window{Attr::window, 5};
    const std::vector<double> lengths{0, 1, 69, 70, -5, 1e9};
    const Heads square{6, 2, 70, 16, 2, 70, 16, DType::f32, {}, DType::f32, lengths};
    const auto with = [&](Heads c, const std::vector<Attribute>& attributes) {
        c.attributes = attributes;
        return c;
    };
    heads("causal", {1, 2, 70, 16, 2, 133, 16, DType::f32, {}, DType::f32, {}, {causal}});
    heads("window", {1, 2, 133, 16, 2, 133, 16, DType::f32, {}, DType::f32, {}, {window}});
    heads("window-causal", {1, 2, 70, 16, 2, 133, 16, DType::f32, {}, DType::f32, {}, {causal, window}});
    heads("mask-bool", {2, 2, 70, 16, 2, 70, 16, DType::f32, {2, 1, 70, 70}, DType::boolean});
    heads("softcap", {1, 2, 37, 16, 2, 37, 16, DType::f32, {37}, DType::f32, {}, {{Attr::softcap, 0.5}}});
    heads("scale-below-0", {1, 2, 9, 16, 2, 21, 16, DType::f32, {}, DType::f32, {}, {{Attr::scale, -1.0}}});
    heads("lengths", square);
    heads("lengths-causal", with(square, {causal}));
    heads("lengths-padded", with(square, {padded}));
    heads("lengths-padded-causal", with(square, {causal, padded}));
    heads("lengths-padded-past", {6, 2, 19, 16, 2, 70, 16, DType::f16, {}, DType::f32, lengths, {padded}});
    heads("one-query-lengths", {6, 4, 1, 64, 2, 133, 64, DType::f32, {}, DType::f32, lengths, {causal}});
    // No further than the window reaches.
    for (const bool cached : {false, true}) {
        Heads near = with(square, {window, cached ? causal : padded});
        near.distances = 9;
        add(list, std::string("relative-window-of-rows") + (cached ? "-causal" : "-padded"), near);
    }
    add(list, "lengths-padded-window", with(square, {padded, window}));
    add(list, "lengths-padded-causal", with(square, {padded, causal}));
}

// Halves with relative positions, of sizes that kernels for matrix units take.
void relative_halves(CaseList& list) {
    const auto heads = [&](const std::string& name, Heads c, int64_t more_rows = 0) {
        c.dtype = DType::f16;
        add(list, "half-relative-" + name, relative(c, more_rows));
    };
    for (const int64_t tokens : {16, 63, 64, 65, 131, 200})
        heads("tokens-" + std::to_string(tokens), {1, 2, tokens, 24, 2, tokens, 24});
    for (const int64_t size : {40, 64, 128}) heads("size-" + std::to_string(size), {1, 2, 150, size, 2, 150, size});
    heads("past", {1, 2, 40, 16, 2, 200, 48});
    heads("more-queries-than-keys", {1, 2, 200, 16, 2, 70, 16});
    heads("grouped", {2, 6, 70, 16, 2, 130, 16});
    heads("longer-table", {2, 2, 70, 16, 2, 70, 16}, 100);
    Heads bare = relative({1, 2, 70, 16, 2, 130, 16, DType::f16});
    bare.biases = false;
    add(list, "half-relative-no-biases", bare);
    const Attribute causal{Attr::causal, 1};
    const Attribute padded{Attr::padded, 1};
    const Attribute window{Attr::window, 20};
    const std::vector<double> lengths{0, 1, 130, 150, -5, 1e9};
    Heads square{1, 2, 150, 16, 2, 150, 16, DType::f16};
    square.attributes = {causal};
    heads("causal", square);
    square.attributes = {window};
    heads("window", square);
    square.distances = 39;
    add(list, "half-relative-window-of-rows", square);
    square.attributes = {{Attr::softcap, 0.5}};
    square.mask = {150, 150};
    square.mask_dtype = DType::boolean;
    heads("softcap-mask-bool", square);
    Heads batch{6, 2, 150, 16, 2, 150, 16, DType::f16, {}, DType::f32, lengths};
    heads("lengths", batch);
    batch.attributes = {padded};
    heads("lengths-padded", batch);
    batch.attributes = {padded, causal};
    heads("lengths-padded-causal", batch);
}

void quantised(CaseList& list) {
    const auto heads = [&](const std::string& name, Heads c) {
        c.blocks = true;
        add(list, "q8_0-" + name, c);
    };
    const std::vector<double> lengths{0, 1, 130, 133, -5, 1e9};
    const Attribute causal{Attr::causal, 1};
    heads("one-key", {1, 2, 3, 32, 2, 1, 32});
    heads("one-query", {2, 4, 1, 64, 4, 33, 64});
    heads("no-keys", {1, 2, 3, 32, 2, 0, 32});
    heads("no-numbers", {1, 2, 3, 0, 2, 5, 32});
    heads("no-width", {1, 2, 3, 32, 2, 5, 0});
    for (const int64_t size : {32, 96, 128, 288})
        heads("size-" + std::to_string(size), {1, 2, 19, size, 2, 67, std::min<int64_t>(size, 224)});
    heads("width-alone", {1, 2, 9, 32, 2, 31, 160});
    heads("grouped", {2, 6, 70, 32, 2, 131, 32});
    heads("many-keys", {1, 2, 2, 32, 1, 4099, 32});
    for (const DType dtype : {DType::f16, DType::bf16, DType::f64}) {
        const std::string type = std::string("type-") + backplane::name_of(dtype);
        heads(type, {2, 2, 17, 64, 2, 70, 64, dtype});
        heads(type + "-masked", {2, 2, 40, 32, 1, 70, 32, dtype, {2, 1, 40, 70}, dtype});
    }
    heads("mask-bool", {2, 4, 9, 32, 2, 21, 32, DType::f32, {2, 1, 1, 21}, DType::boolean});
    heads("lengths", {6, 2, 3, 32, 1, 133, 32, DType::f32, {}, DType::f32, lengths});
    heads("lengths-causal", {6, 4, 1, 64, 2, 133, 64, DType::f16, {}, DType::f32, lengths, {causal}});
    heads("relative", relative({1, 4, 37, 32, 2, 70, 32}));
    for (const Source source : {Source::weight, Source::constant})
        heads(graph::name_of(source), {1, 2, 9, 32, 2, 21, 32, DType::f32, {9, 21}, DType::f32, {}, {}, source});
}

void cases(CaseList& list) {
    shapes(list);
    masks(list);
    tiles(list);
    halves(list);
    half_where_heads_lie(list);
    relative_shapes(list);
    relative_masks(list);
    relative_halves(list);
    quantised(list);
}

}  // namespace

constinit const OpConformance conformance_attention{cases, bound};

}  // namespace backplane::graph::conformance::attention
