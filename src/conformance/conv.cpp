// Conv: the scale is the sum of magnitudes of products, the largest of the map: Winograd and FFT spread the rounding of a tile.
// Under BP_MATH_STRICT each element has its own.
#include "conformance/bounds.hpp"
#include "conformance/conv_networks.hpp"
#include "conformance/support.hpp"

namespace backplane::graph::conformance::conv {

namespace {

std::vector<double> bound(const BoundCall& call) {
    const Shape& w = call.inputs[1]->shape;
    return bounds::sum(call, static_cast<double>(elements({w.begin() + 1, w.end()}) + 1));
}

using enum Source;
using List = std::vector<int64_t>;

struct Convolution {
    Shape x;
    int64_t outputs = 1;
    int64_t kernel_height = 3, kernel_width = 3;
    List pads = {0, 0, 0, 0};
    List strides = {1, 1};
    List dilations = {1, 1};
    int64_t group = 1;
    bool bias = true;
    DType dtype = DType::f32, w_type = DType::f32;
    Source x_source = input, w_source = weight;
    Values values = {};
};

TensorId convolution(CaseBuilder& b, const Convolution& c) {
    const TensorId x = b.operand(c.x_source, c.dtype, c.x, c.values);
    const TensorId w = b.operand(c.w_source, c.w_type, {c.outputs, c.x[1] / c.group, c.kernel_height, c.kernel_width});
    const TensorId bias = c.bias ? b.operand(c.w_source, c.dtype, {c.outputs}) : no_tensor;
    return b.add(Op::conv, {x, w, bias},
                 {{Attr::pads, c.pads}, {Attr::strides, c.strides}, {Attr::dilations, c.dilations}, {Attr::group, c.group}});
}

void add(CaseList& list, const std::string& name, const Convolution& c) {
    list.add(name, [c](CaseBuilder& b) { b.result(convolution(b, c)); });
}

List around(int64_t pad) { return {pad, pad, pad, pad}; }

std::string square(int64_t kernel) { return std::to_string(kernel) + "x" + std::to_string(kernel); }

// Each kernel size at each number of channels in and out that matters to a blocking of 4, 8, 16 or 32.
void channels(CaseList& list) {
    for (const int64_t kernel : {1, 3, 5, 7})
        for (const int64_t in : {1, 3, 5, 16, 17, 64})
            for (const int64_t out : {1, 3, 16, 17, 64}) {
                if (in * out * kernel * kernel > 64 * 17 * 9) continue;
                add(list, square(kernel) + "-" + std::to_string(in) + "-to-" + std::to_string(out),
                    {{1, in, 9, 11}, out, kernel, kernel, around(kernel / 2)});
            }
    add(list, "3x3-64-to-64", {{1, 64, 6, 7}, 64, 3, 3, around(1)});
    add(list, "3x3-32-to-48-batch-2", {{2, 32, 5, 6}, 48, 3, 3, around(1)});
    add(list, "3x3-16-to-16-wide", {{1, 16, 5, 67}, 16, 3, 3, around(1)});
    add(list, "3x3-16-to-16-tall", {{1, 16, 67, 5}, 16, 3, 3, around(1)});
    add(list, "3x3-16-to-12", {{1, 16, 13, 14}, 12, 3, 3, around(1)});
    add(list, "3x3-3-to-16-image", {{1, 3, 37, 41}, 16, 3, 3, around(1)});
}

// Map sizes about the edges of tiles, with and without padding.
void extents(CaseList& list) {
    for (const int64_t size : {1, 2, 3, 4, 5, 6, 7, 8, 12, 13, 16, 17})
        for (const int64_t pad : {0, 1}) {
            if (size + 2 * pad < 3) continue;
            add(list, "3x3-map-" + square(size) + "-pad-" + std::to_string(pad),
                {{1, 17, size, size}, 16, 3, 3, around(pad)});
        }
    add(list, "kernel-covers-map", {{1, 5, 5, 7}, 3, 5, 7});
    add(list, "1x1-one-pixel", {{1, 16, 1, 1}, 17, 1, 1});
    add(list, "no-batch", {{0, 3, 5, 7}, 4});
    add(list, "no-outputs", {{1, 3, 5, 7}, 0});
    add(list, "no-channels", {{1, 0, 5, 7}, 3});
    add(list, "batch-5", {{5, 3, 7, 5}, 8, 3, 3, around(1)});
}

void attributes(CaseList& list) {
    for (const int64_t kernel : {1, 3, 5, 7})
        for (const int64_t in : {3, 16}) {
            const std::string what = square(kernel) + "-" + std::to_string(in) + "-";
            const Convolution plain{{2, in, 13, 15}, 16, kernel, kernel, around(kernel / 2)};
            Convolution c = plain;
            c.strides = {2, 2};
            add(list, what + "stride-2", c);
            c.strides = {3, 1};
            add(list, what + "stride-3-1", c);
            c = plain;
            c.dilations = {2, 2};
            c.pads = around(kernel / 2 * 2);
            add(list, what + "dilation-2", c);
            c.dilations = {1, 2};
            add(list, what + "dilation-1-2", c);
            c.strides = {2, 2};
            add(list, what + "dilation-1-2-stride-2", c);
            c = plain;
            c.pads = {0, 1, 2, 3};
            add(list, what + "pads-0-1-2-3", c);
            c.pads = {3, 0, 0, 5};
            add(list, what + "pads-3-0-0-5", c);
            c.pads = around(0);
            add(list, what + "no-pads", c);
            c = plain;
            c.bias = false;
            add(list, what + "no-bias", c);
        }
    for (const auto& [height, width] : {std::pair<int64_t, int64_t>{1, 3}, {3, 1}, {2, 2}, {4, 3}, {1, 7}, {2, 5}})
        add(list, std::to_string(height) + "x" + std::to_string(width), {{1, 16, 9, 11}, 17, height, width, {1, 0, 0, 1}});
    add(list, "pads-more-than-kernel", {{1, 3, 3, 3}, 4, 3, 3, {5, 6, 7, 4}});
}

void groups(CaseList& list) {
    for (const int64_t kernel : {1, 3, 5, 7})
        for (const int64_t n : {3, 16, 17}) {
            const std::string what = "depthwise-" + square(kernel) + "-" + std::to_string(n);
            Convolution c{{2, n, 9, 11}, n, kernel, kernel, around(kernel / 2), {1, 1}, {1, 1}, n};
            add(list, what, c);
            c.strides = {2, 2};
            add(list, what + "-stride-2", c);
            c.strides = {1, 1};
            c.outputs = 2 * n;
            add(list, what + "-twice", c);
        }
    for (const int64_t group : {2, 3, 4, 8})
        for (const int64_t kernel : {1, 3})
            add(list, "groups-" + std::to_string(group) + "-" + square(kernel),
                {{1, 24, 7, 9}, 48, kernel, kernel, around(kernel / 2), {1, 1}, {1, 1}, group});
    add(list, "groups-2-of-17", {{1, 34, 5, 7}, 6, 3, 3, around(1), {2, 1}, {1, 1}, 2});
    // Rows of several vectors, and some that are no multiple of any; parts of a plane.
    add(list, "depthwise-3x3-wide", {{2, 3, 11, 131}, 3, 3, 3, around(1), {1, 1}, {1, 1}, 3});
    add(list, "depthwise-3x5-wide", {{1, 3, 10, 83}, 3, 3, 5, {0, 3, 2, 1}, {1, 1}, {1, 1}, 3});
    add(list, "depthwise-3x3-dilated-rows", {{1, 3, 9, 70}, 3, 3, 3, {1, 4, 1, 4}, {1, 1}, {1, 4}, 3});
    add(list, "depthwise-3x3-of-long-rows", {{1, 2, 37, 1100}, 2, 3, 3, around(1), {1, 1}, {1, 1}, 2});
    add(list, "1x1-150-to-37-planes", {{2, 150, 9, 31}, 37, 1, 1, around(0)});
    add(list, "depthwise-dilation-2", {{1, 16, 9, 11}, 16, 3, 3, around(2), {1, 1}, {2, 2}, 16});
}

void types_and_sources(CaseList& list) {
    for (const DType dtype : {DType::f16, DType::bf16})
        for (const int64_t kernel : {1, 3, 5})
            for (const int64_t in : {3, 16, 17}) {
                const std::string what = square(kernel) + "-" + std::to_string(in) + "-" + backplane::name_of(dtype);
                Convolution c{{1, in, 9, 11}, 16, kernel, kernel, around(kernel / 2)};
                c.w_type = dtype;
                add(list, what + "-weights", c);
                c.dtype = dtype;
                add(list, what, c);
                c.strides = {2, 2};
                add(list, what + "-stride-2", c);
            }
    for (const Source x : {input, constant, transposed, strided})
        for (const Source w : {weight, constant, input, transposed, strided})
            for (const int64_t kernel : {1, 3}) {
                Convolution c{{1, 16, 7, 9}, 17, kernel, kernel, around(kernel / 2)};
                c.x_source = x;
                c.w_source = w;
                add(list, square(kernel) + "-x-" + name_of(x) + "-w-" + name_of(w), c);
            }
    Convolution c{{1, 3, 5, 7}, 4};
    c.dtype = c.w_type = DType::f64;
    add(list, "3x3-f64", c);
    c.bias = false;
    c.x_source = transposed;
    c.w_source = constant;
    add(list, "3x3-bare-f64", c);
    c = {{2, 6, 7, 9}, 4, 3, 2, {1, 0, 2, 1}, {2, 3}, {2, 1}, 2};
    c.dtype = c.w_type = DType::f64;
    add(list, "mixed-f64", c);
    c = {{1, 5, 2, 9}, 5, 5, 3, {3, 4, 3, 0}, {1, 1}, {1, 2}, 5};  // taps that meet nothing at all
    c.dtype = c.w_type = DType::f64;
    add(list, "depthwise-f64", c);
    list.add("of-parts-f64", [](CaseBuilder& b) {  // what is fused of floats: a concatenation before, a function behind
        const TensorId x =
            b.add(Op::concat, {b.input(DType::f64, {1, 3, 5, 7}), b.input(DType::f64, {1, 2, 5, 7})}, {{Attr::axis, 1}});
        const TensorId y = b.add(Op::conv, {x, b.weight(DType::f64, {4, 5, 3, 3}), b.weight(DType::f64, {4})});
        b.result(b.add(Op::relu, {b.add(Op::add, {y, y})}));
    });
    c = {{1, 16, 9, 9}, 16, 3, 3, around(1)};
    c.values = {100, 101};  // a blue sky: the map is far from zero, and products cancel
    add(list, "far-from-zero", c);
    c.values = {0, 0};
    add(list, "zeros", c);
}

// One spatial axis and three: `kernel` has an extent for each.
struct OtherRank {
    Shape x;
    int64_t outputs;
    Shape kernel;
    List pads = {}, strides = {}, dilations = {};  // empty: as the op has it
    int64_t group = 1;
    DType dtype = DType::f32;
    bool relu = false;
};

void add_other(CaseList& list, const std::string& name, const OtherRank& c) {
    list.add(name, [c](CaseBuilder& b) {
        Shape filters = {c.outputs, c.x[1] / c.group};
        filters.insert(filters.end(), c.kernel.begin(), c.kernel.end());
        std::vector<Attribute> attributes = {{Attr::group, c.group}};
        if (!c.pads.empty()) attributes.emplace_back(Attr::pads, c.pads);
        if (!c.strides.empty()) attributes.emplace_back(Attr::strides, c.strides);
        if (!c.dilations.empty()) attributes.emplace_back(Attr::dilations, c.dilations);
        const TensorId y = b.add(
            Op::conv,
            {b.operand(input, c.dtype, c.x), b.operand(weight, c.dtype, filters), b.operand(weight, c.dtype, {c.outputs})},
            attributes);
        b.result(c.relu ? b.add(Op::relu, {y}) : y);
    });
}

void other_ranks(CaseList& list) {
    for (const int64_t kernel : {1, 3, 7})
        for (const int64_t in : {1, 3, 16, 17})
            add_other(list, "1d-" + std::to_string(kernel) + "-" + std::to_string(in) + "-to-17",
                      {{2, in, 23}, 17, {kernel}, {kernel / 2, kernel / 2}});
    add_other(list, "1d-one-sample", {{1, 5, 1}, 3, {1}});
    add_other(list, "1d-no-batch", {{0, 3, 9}, 4, {3}});
    add_other(list, "1d-stride-2", {{1, 16, 31}, 16, {3}, {1, 1}, {2}});
    add_other(list, "1d-dilation-3-uneven-pads", {{1, 16, 31}, 16, {3}, {4, 1}, {}, {3}});
    add_other(list, "1d-depthwise-relu", {{2, 17, 29}, 17, {5}, {4, 0}, {}, {}, 17, DType::f32, true});
    add_other(list, "1d-groups-2-f16", {{1, 16, 19}, 8, {3}, {1, 1}, {}, {}, 2, DType::f16});
    for (const int64_t kernel : {3, 5, 7})
        add_other(list, "1d-" + std::to_string(kernel) + "-long-f16",
                  {{2, 40, 1031}, 70, {kernel}, {kernel / 2, kernel / 2}, {}, {}, 1, DType::f16});
    add_other(list, "1d-speech", {{1, 80, 100}, 64, {3}, {1, 1}, {2}, {}, 1, DType::f32, true});
    for (const int64_t kernel : {1, 3})
        for (const int64_t in : {1, 3, 16, 17})
            add_other(list, "3d-" + std::to_string(kernel) + "-" + std::to_string(in) + "-to-17",
                      {{2, in, 5, 4, 7}, 17, Shape(3, kernel), List(6, kernel / 2)});
    add_other(list, "3d-one-voxel", {{1, 3, 1, 1, 1}, 5, {1, 1, 1}});
    add_other(list, "3d-no-batch", {{0, 3, 3, 3, 3}, 4, {3, 3, 3}});
    add_other(list, "3d-1-f16", {{2, 48, 4, 9, 11}, 65, {1, 1, 1}, {}, {}, {}, 1, DType::f16});
    add_other(list, "3d-3-f16", {{1, 32, 5, 6, 7}, 40, {3, 3, 3}, List(6, 1), {2, 1, 1}, {}, 1, DType::f16});
    add_other(list, "3d-strides-dilations", {{1, 6, 9, 8, 11}, 5, {3, 2, 3}, {1, 0, 2, 2, 1, 0}, {2, 1, 3}, {2, 3, 1}});
    add_other(list, "3d-pads-more-than-kernel",
              {{1, 3, 2, 3, 2}, 4, {2, 2, 2}, {4, 1, 0, 3, 2, 5}, {}, {}, 1, DType::f32, true});
    add_other(list, "3d-depthwise", {{1, 17, 4, 5, 6}, 17, {3, 3, 3}, List(6, 1), {}, {}, 17});
    add_other(list, "3d-groups-3-bf16", {{1, 9, 4, 5, 6}, 6, {3, 1, 3}, {}, {}, {}, 3, DType::bf16, true});
}

// Halves in rows of whole eights, which GPUs copy and store at once, with tiles that end within the map, or beside it.
void rows_of_eights(CaseList& list) {
    const auto of_halves = [&](const std::string& name, Convolution c) {
        c.dtype = c.w_type = DType::f16;
        add(list, "eights-" + name, c);
    };
    for (const int64_t kernel : {1, 3, 5}) {
        of_halves(square(kernel) + "-wide", {{2, 24, 19, 136}, 70, kernel, kernel, around(kernel / 2)});
        of_halves(square(kernel) + "-narrow", {{1, 65, 9, 8}, 3, kernel, kernel, around(kernel / 2)});
        of_halves(square(kernel) + "-groups-3", {{2, 51, 5, 72}, 27, kernel, kernel, around(kernel / 2), {1, 1}, {1, 1}, 3});
        of_halves("1x" + std::to_string(kernel + 2), {{1, 33, 10, 80}, 17, 1, kernel + 2, {0, 0, 0, kernel + 1}});
        Convolution made{{1, 16, 11, 64}, 20, kernel, kernel, around(kernel / 2)};
        made.w_source = input;
        made.bias = false;
        of_halves(square(kernel) + "-w-input", made);
        made.values = {100, 101};
        of_halves(square(kernel) + "-far-from-zero", made);
    }
    of_halves("uneven-pads", {{1, 17, 13, 72}, 16, 3, 5, {5, 1, 0, 11}});
    of_halves("rows-shorter-than-their-copies", {{1, 16, 6, 56}, 64, 3, 3, {0, 1, 0, 1}});
    // The map begins at no multiple of 16 bytes, and so do what is added and what comes out.
    for (const int64_t kernel : {1, 3, 5})
        list.add("eights-" + square(kernel) + "-behind-a-part", [kernel](CaseBuilder& b) {
            const Shape map = {1, 20, 9, 72};
            const std::vector<Attribute> flat = {{Attr::shape, List{elements(map)}}}, whole = {{Attr::shape, map}};
            const auto behind = [&](TensorId x) {
                const TensorId made = b.add(Op::reshape, {x}, flat);
                b.result(b.add(Op::concat, {b.input(DType::f16, {3}), made}, {{Attr::axis, 0}}));
                return b.add(Op::reshape, {made}, whole);
            };
            const TensorId x = behind(b.add(Op::relu, {b.input(DType::f16, map)}));
            const TensorId added = behind(b.add(Op::abs, {b.input(DType::f16, map)}));
            const TensorId w = b.operand(weight, DType::f16, {20, 20, kernel, kernel}, {-0.2, 0.2});
            const TensorId y = b.add(Op::conv, {x, w, b.weight(DType::f16, {20})}, {{Attr::pads, around(kernel / 2)}});
            behind(b.add(Op::relu, {b.add(Op::add, {y, added})}));
        });
}

void strict(CaseList& list) {
    for (const int64_t kernel : {1, 3, 5})
        list.add("strict-" + square(kernel), [kernel](CaseBuilder& b) {
            b.strict();
            b.result(convolution(b, {{1, 32, 9, 11}, 17, kernel, kernel, around(kernel / 2)}));
        });
    // What is not a number stays within the reach of the kernel.
    list.add("strict-special", [](CaseBuilder& b) {
        b.strict();
        Convolution c{{1, 16, 9, 9}, 16, 3, 3, around(1)};
        c.values.first.resize(50);
        c.values.first[0] = kInfinity;
        c.values.first[40] = kNaN;
        b.result(convolution(b, c));
    });
}

void cases(CaseList& list) {
    channels(list);
    extents(list);
    attributes(list);
    groups(list);
    types_and_sources(list);
    other_ranks(list);
    rows_of_eights(list);
    strict(list);
    conv_networks(list);
}

}  // namespace

constinit const OpConformance conformance_conv{cases, bound};

}  // namespace backplane::graph::conformance::conv
