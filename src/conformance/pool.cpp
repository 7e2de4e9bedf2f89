#include "conformance/pool.hpp"

namespace backplane::graph {

namespace {

using List = std::vector<int64_t>;

std::vector<Attribute> window(const List& kernel, const List& strides = {}, const List& pads = {},
                              const List& dilations = {}, bool ceil_mode = false) {
    std::vector<Attribute> all = {{Attr::kernel_shape, kernel}};
    if (!strides.empty()) all.push_back({Attr::strides, strides});
    if (!pads.empty()) all.push_back({Attr::pads, pads});
    if (!dilations.empty()) all.push_back({Attr::dilations, dilations});
    if (ceil_mode) all.push_back({Attr::ceil_mode, 1});
    return all;
}

}  // namespace

void add_pool(CaseList& list, const std::string& name, const PoolCase& c) {
    list.add(name, [c, op = list.op()](CaseBuilder& b) {
        b.result(b.add(op, {b.operand(c.source, c.dtype, c.x, c.values)}, c.attributes));
    });
}

void pool_cases(CaseList& list, const std::vector<Attribute>& how, const std::string& suffix) {
    const auto add = [&](const std::string& name, PoolCase c) {
        c.attributes.insert(c.attributes.end(), how.begin(), how.end());
        add_pool(list, name + suffix, c);
    };
    const std::vector<Attribute> usual = window({3, 3}, {2, 2}, {1, 1, 1, 1});
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f64})
        add(std::string("3x3-by-2-padded-") + name_of(dtype), {{2, 3, 9, 11}, usual, dtype});
    for (const Source source : {Source::weight, Source::constant, Source::transposed, Source::strided})
        add(name_of(source), {{2, 5, 7, 9}, usual, DType::f32, source});
    add("1x1", {{1, 3, 5, 7}, window({1, 1})});
    add("2x2", {{1, 17, 8, 6}, window({2, 2}, {2, 2})});
    add("2x2-one-step", {{1, 3, 5, 7}, window({2, 2})});
    add("whole-map", {{2, 3, 5, 7}, window({5, 7})});
    add("one-pixel", {{1, 1, 1, 1}, window({1, 1})});
    add("one-pixel-padded", {{1, 2, 1, 1}, window({3, 3}, {}, {1, 1, 1, 1})});
    add("many-channels", {{1, 67, 7, 5}, window({3, 3}, {}, {1, 1, 1, 1})});
    add("large", {{1, 4, 57, 63}, usual});
    add("row", {{1, 3, 1, 33}, window({1, 5}, {1, 3})});
    add("one-sided-pads", {{1, 3, 6, 7}, window({3, 2}, {2, 1}, {2, 0, 0, 1})});
    add("dilated", {{1, 3, 9, 11}, window({3, 2}, {1, 2}, {1, 1, 2, 0}, {2, 3})});
    // 3 windows where 2 are whole: the third begins in the map; with pads behind, the fourth would begin behind it.
    add("ceil", {{1, 3, 6, 7}, window({3, 3}, {2, 2}, {}, {}, true)});
    add("ceil-padded", {{1, 3, 6, 7}, window({3, 3}, {2, 2}, {1, 1, 1, 1}, {}, true)});
    add("ceil-none-begins-behind", {{1, 2, 4, 5}, window({2, 2}, {3, 3}, {1, 1, 1, 1}, {}, true)});
    add("ceil-dilated", {{1, 3, 9, 8}, window({2, 2}, {3, 3}, {0, 1, 1, 0}, {2, 2}, true)});
    add("rank-3", {{2, 5, 33}, window({4}, {3}, {1, 2})});
    add("rank-5", {{1, 3, 5, 4, 7}, window({2, 3, 2}, {2, 1, 2}, {1, 1, 0, 0, 1, 1})});
    add("no-samples", {{0, 3, 5, 7}, usual});
    add("no-channels", {{1, 0, 5, 7}, usual});
}

}  // namespace backplane::graph
