// ConvTranspose: a sum of products, as Conv; each element has the scale of its own terms.
#include "conformance/bounds.hpp"
#include "conformance/support.hpp"

namespace backplane::graph::conformance::conv_transpose {

namespace {

std::vector<double> bound(const BoundCall& call) {
    const Shape& w = call.inputs[1]->shape;
    return bounds::sum(call, static_cast<double>(w[0] * elements({w.begin() + 2, w.end()}) + 1));
}

using enum Source;
using List = std::vector<int64_t>;

// `kernel` has an extent for each spatial axis; empty lists: as the op has them.
struct Transposed {
    Shape x;
    int64_t outputs = 1;
    Shape kernel;
    List strides = {}, pads = {}, dilations = {}, output_padding = {};
    int64_t group = 1;
    DType dtype = DType::f32, w_type = DType::f32;
    bool bias = true;
    Source x_source = input, w_source = weight;
};

TensorId transposed_of(CaseBuilder& b, const Transposed& c) {
    Shape filters = {c.x[1], c.outputs / c.group};
    filters.insert(filters.end(), c.kernel.begin(), c.kernel.end());
    std::vector<Attribute> attributes = {{Attr::group, c.group}};
    if (!c.strides.empty()) attributes.emplace_back(Attr::strides, c.strides);
    if (!c.pads.empty()) attributes.emplace_back(Attr::pads, c.pads);
    if (!c.dilations.empty()) attributes.emplace_back(Attr::dilations, c.dilations);
    if (!c.output_padding.empty()) attributes.emplace_back(Attr::output_padding, c.output_padding);
    const TensorId x = b.operand(c.x_source, c.dtype, c.x);
    const TensorId w = b.operand(c.w_source, c.w_type, filters);
    return b.add(Op::conv_transpose, {x, w, c.bias ? b.operand(c.w_source, c.dtype, {c.outputs}) : no_tensor}, attributes);
}

void add(CaseList& list, const std::string& name, const Transposed& c) {
    list.add(name, [c](CaseBuilder& b) { b.result(transposed_of(b, c)); });
}

void worst(CaseList& list) {
    add(list, "no-batch", {{0, 3, 4, 5}, 4, {3, 3}, {2, 2}});
    add(list, "no-channels", {{1, 0, 4, 5}, 3, {3, 3}, {2, 2}});
    add(list, "no-outputs", {{1, 3, 4, 5}, 0, {3, 3}});
    add(list, "all-cut-off", {{1, 3, 1, 4}, 2, {2, 2}, {}, {1, 0, 1, 0}});
    add(list, "one-pixel", {{1, 1, 1, 1}, 1, {1, 1}});
    add(list, "one-pixel-7x5", {{1, 17, 1, 1}, 3, {7, 5}, {3, 2}});
    add(list, "stride-over-kernel", {{2, 5, 3, 4}, 7, {2, 3}, {5, 4}});
    add(list, "stride-over-kernel-1d", {{1, 3, 11}, 5, {1}, {7}, {}, {}, {6}});
    add(list, "stride-even-dilation-even", {{1, 3, 5, 6}, 4, {3, 2}, {4, 2}, {}, {2, 4}, {3, 1}});
    add(list, "stride-6-dilation-4", {{1, 3, 13}, 4, {5}, {6}, {3, 1}, {4}});
    add(list, "dilation-over-stride", {{1, 5, 7, 6}, 6, {3, 4}, {2, 3}, {0, 5, 3, 1}, {5, 2}, {4, 2}});
    add(list, "pads-more-than-kernel", {{1, 3, 9, 8}, 4, {3, 3}, {2, 2}, {5, 4, 6, 3}});
    add(list, "pads-cut-whole-phases", {{1, 3, 3, 3}, 4, {2, 2}, {8, 8}, {7, 0, 9, 16}});
    add(list, "one-row-is-left", {{1, 4, 6, 9}, 5, {4, 4}, {3, 3}, {9, 9, 9, 0}});
    add(list, "prime-everything", {{3, 13, 7, 11}, 19, {5, 3}, {3, 2}, {1, 0, 2, 1}, {1, 2}, {2, 1}});
}

void networks(CaseList& list) {
    add(list, "segmentation-2x2", {{1, 48, 9, 13}, 32, {2, 2}, {2, 2}});
    add(list, "gan-4x4", {{1, 32, 12, 11}, 17, {4, 4}, {2, 2}, {1, 1, 1, 1}});
    add(list, "gan-4x4-batch-2", {{2, 16, 8, 8}, 24, {4, 4}, {2, 2}, {1, 1, 1, 1}});
    add(list, "autoencoder-3x3", {{1, 24, 10, 9}, 16, {3, 3}, {2, 2}, {1, 1, 1, 1}, {}, {1, 1}});
    add(list, "large", {{1, 64, 33, 35}, 66, {3, 3}, {2, 2}, {1, 1, 1, 1}, {}, {1, 1}});
    add(list, "vocoder-16-by-8", {{1, 64, 61}, 33, {16}, {8}, {4, 4}});
    add(list, "vocoder-4-by-2-long", {{1, 16, 1201}, 8, {4}, {2}, {1, 1}});
    add(list, "bilinear-depthwise", {{2, 21, 7, 9}, 21, {4, 4}, {2, 2}, {1, 1, 1, 1}, {}, {}, 21});
    add(list, "anti-aliased-depthwise-1d", {{1, 48, 95}, 48, {12}, {2}, {5, 5}, {}, {}, 48});
    for (const auto& [name, op] : {std::pair{"relu", Op::relu}, std::pair{"tanh", Op::tanh}})
        list.add(std::string("then-") + name + "-and-add", [op = op](CaseBuilder& b) {
            const TensorId y = transposed_of(b, {{1, 16, 7, 9}, 18, {4, 3}, {2, 3}, {1, 0, 2, 1}, {}, {1, 2}});
            b.result(b.add(Op::add, {b.add(op, {y}), b.input({1, 18, 14, 28})}));
        });
    list.add("between-convolutions", [](CaseBuilder& b) {
        const TensorId map =
            b.add(Op::relu, {b.add(Op::conv, {b.input({1, 8, 7, 9}), b.weight(DType::f32, {16, 8, 3, 3})})});
        const TensorId wide =
            b.add(Op::conv_transpose, {map, b.weight(DType::f32, {16, 12, 2, 2})}, {{Attr::strides, List{2, 2}}});
        b.result(b.add(Op::conv, {b.add(Op::relu, {wide}), b.weight(DType::f32, {4, 12, 1, 1})}));
    });
}

void ranks_and_groups(CaseList& list) {
    for (const int64_t kernel : {1, 3, 4})
        for (const int64_t stride : {1, 2, 3})
            for (const int64_t in : {1, 3, 17}) {
                const std::string what =
                    "-" + std::to_string(kernel) + "-by-" + std::to_string(stride) + "-" + std::to_string(in) + "-to-16";
                const int64_t pad = kernel / 2;
                add(list, "1d" + what, {{2, in, 19}, 16, {kernel}, {stride}, {pad, 0}});
                add(list, "2d" + what, {{1, in, 6, 7}, 16, {kernel, kernel}, {stride, stride}, {0, pad, pad, 0}});
                add(list, "3d" + what, {{1, in, 3, 4, 5}, 16, Shape(3, kernel), List(3, stride), {pad, 0, 0, 0, pad, 0}});
            }
    add(list, "3d-mixed", {{2, 6, 3, 2, 5}, 4, {2, 3, 1}, {1, 2, 3}, {1, 0, 0, 0, 1, 2}, {3, 1, 2}, {2, 1, 2}});
    add(list, "3d-depthwise", {{1, 17, 3, 4, 5}, 17, {3, 2, 4}, {2, 1, 2}, {1, 0, 1, 0, 0, 1}, {}, {}, 17});
    add(list, "1d-depthwise-stride-over-kernel", {{1, 9, 14}, 9, {2}, {5}, {1, 0}, {}, {4}, 9});
    for (const int64_t group : {2, 3, 6}) {
        add(list, "groups-" + std::to_string(group), {{1, 24, 5, 6}, 36, {3, 3}, {2, 2}, {1, 1, 1, 1}, {}, {}, group});
        add(list, "depthwise-twice-" + std::to_string(group),
            {{1, group, 5, 6}, 2 * group, {3, 3}, {2, 1}, {}, {}, {}, group});
    }
}

void types_and_sources(CaseList& list) {
    for (const DType dtype : {DType::f16, DType::bf16}) {
        Transposed c{{1, 17, 9, 8}, 24, {4, 4}, {2, 2}, {1, 1, 1, 1}};
        c.w_type = dtype;
        add(list, std::string("4x4-") + name_of(dtype) + "-weights", c);
        c.dtype = dtype;
        add(list, std::string("4x4-") + name_of(dtype), c);
        c = {{1, 160, 40}, 72, {8}, {2}, {3, 3}, {}, {}, 1, dtype, dtype};
        add(list, std::string("1d-") + name_of(dtype), c);
        c = {{1, 64, 3, 6, 7}, 40, {3, 3, 3}, {1, 2, 2}, {1, 1, 1, 1, 1, 1}, {}, {0, 1, 1}, 1, dtype, dtype};
        add(list, std::string("3d-") + name_of(dtype), c);
        c = {{1, 17, 9, 8}, 17, {3, 3}, {2, 2}, {1, 1, 1, 1}, {}, {}, 17, dtype, dtype};
        add(list, std::string("depthwise-") + name_of(dtype), c);
    }
    for (const Source x : {input, constant, transposed, strided})
        for (const Source w : {weight, constant, input, transposed, strided}) {
            Transposed c{{1, 6, 5, 7}, 5, {3, 4}, {2, 3}};
            c.x_source = x;
            c.w_source = w;
            add(list, std::string("x-") + name_of(x) + "-w-" + name_of(w), c);
        }
    add(list, "1d-mixed-f64", {{2, 6, 9}, 4, {4}, {3}, {1, 2}, {2}, {1}, 2, DType::f64, DType::f64});
    add(list, "3d-f64",
        {{1, 2, 3, 2, 4}, 3, {2, 3, 1}, {1, 2, 3}, {1, 0, 0, 0, 1, 2}, {3, 1, 2}, {}, 1, DType::f64, DType::f64});
    add(list, "depthwise-f64", {{1, 5, 4, 5}, 5, {3, 3}, {2, 2}, {2, 2, 2, 2}, {}, {}, 5, DType::f64, DType::f64});
    add(list, "f64", {{1, 3, 4, 5}, 4, {3, 3}, {2, 2}, {}, {}, {}, 1, DType::f64, DType::f64});
    Transposed c{{1, 3, 4, 5}, 4, {3, 3}, {2, 2}};
    c.bias = false;
    add(list, "no-bias", c);
    list.add("strict", [](CaseBuilder& b) {
        b.strict();
        b.result(transposed_of(b, {{1, 32, 6, 7}, 17, {4, 4}, {2, 2}, {1, 1, 1, 1}}));
    });
}

void cases(CaseList& list) {
    worst(list);
    ranks_and_groups(list);
    types_and_sources(list);
    networks(list);
}

}  // namespace

constinit const OpConformance conformance_conv_transpose{cases, bound};

}  // namespace backplane::graph::conformance::conv_transpose
